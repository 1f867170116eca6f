package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

const messageBytes = 1024

// jetStreamMessages is a work queue in files: a step publishes messages and waits until all are acknowledged by the server,
// fetches as many, and acknowledges them, which deletes them; that is confirmed too. There is nothing to fill or to rewind.
type jetStreamMessages struct {
	*jetStream
}

func newNatsMessages(address string) (Peer, error) {
	peer, err := newNats(address, true)
	if err != nil {
		return nil, err
	}
	return &jetStreamMessages{peer.(*jetStream)}, nil
}

func (p *jetStreamMessages) Fill(context.Context, int) error { return nil }

func (p *jetStreamMessages) Rewind(ctx context.Context) error {
	if err := p.js.DeleteStream(stream); err != nil && !errors.Is(err, nats.ErrStreamNotFound) {
		return err
	}
	config := &nats.StreamConfig{Name: stream, Subjects: []string{subject}, Storage: nats.FileStorage, Retention: nats.WorkQueuePolicy}
	if _, err := p.js.AddStream(config); err != nil {
		return err
	}
	return p.jetStream.Rewind(ctx)
}

func (p *jetStreamMessages) Connect(ctx context.Context, number, most int) (Worker, error) {
	worker, err := p.jetStream.Connect(ctx, number, most)
	if err != nil {
		return nil, err
	}
	acker := worker.(*jetStreamWorker)
	js, err := acker.conn.JetStream(nats.MaxWait(30 * time.Second))
	body := make([]byte, messageBytes)
	for i := range body {
		body[i] = byte('a' + (i*7+number)%26)
	}
	return &jetStreamMessagesWorker{jetStreamWorker: acker, js: js, body: body}, err
}

type jetStreamMessagesWorker struct {
	*jetStreamWorker
	js   nats.JetStreamContext
	body []byte
}

func (w *jetStreamMessagesWorker) Step(ctx context.Context, done func(int)) (bool, error) {
	published := make([]nats.PubAckFuture, w.most)
	for i := range published {
		var err error
		if published[i], err = w.js.PublishAsync(subject, w.body); err != nil {
			return false, err
		}
	}
	for _, one := range published {
		select {
		case <-one.Ok():
		case err := <-one.Err():
			return false, fmt.Errorf("a message is not published: %w", err)
		}
	}
	return w.jetStreamWorker.Step(ctx, done)
}
