package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	stream   = "ITEMS"
	subject  = "items"
	consumer = "workers"
)

// jetStream is a stream in files with one pull consumer for all workers, which fetch and acknowledge each message: as
// NATS' own benchmark does it. Its acknowledgements are sent and not answered, as people use them; confirmed ones are
// answered by the server, and asked for all at once for the messages of a fetch.
type jetStream struct {
	address   string
	confirmed bool
	own       *nats.Conn
	js        nats.JetStreamContext
}

func newNats(address string, confirmed bool) (Peer, error) {
	own, err := nats.Connect(address)
	if err != nil {
		return nil, err
	}
	js, err := own.JetStream(nats.PublishAsyncMaxPending(8192), nats.MaxWait(30*time.Second))
	return &jetStream{address: address, confirmed: confirmed, own: own, js: js}, err
}

func (p *jetStream) Fill(ctx context.Context, items int) error {
	config := &nats.StreamConfig{Name: stream, Subjects: []string{subject}, Storage: nats.FileStorage}
	if _, err := p.js.AddStream(config); err != nil {
		return err
	}
	for i := 0; i < items; i++ {
		if _, err := p.js.PublishAsync(subject, []byte(fmt.Sprint(i))); err != nil {
			return err
		}
	}
	select {
	case <-p.js.PublishAsyncComplete():
	case <-ctx.Done():
		return ctx.Err()
	}
	info, err := p.js.StreamInfo(stream)
	if err == nil && info.State.Msgs != uint64(items) {
		err = fmt.Errorf("the stream has %d messages, not %d", info.State.Msgs, items)
	}
	return err
}

func (p *jetStream) Rewind(context.Context) error {
	if err := p.js.DeleteConsumer(stream, consumer); err != nil && !errors.Is(err, nats.ErrConsumerNotFound) {
		return err
	}
	_, err := p.js.AddConsumer(stream, &nats.ConsumerConfig{
		Durable:       consumer,
		AckPolicy:     nats.AckExplicitPolicy,
		AckWait:       time.Minute,
		MaxAckPending: -1,
		MaxWaiting:    8192,
	})
	return err
}

func (p *jetStream) Connect(_ context.Context, _ int, most int) (Worker, error) {
	conn, err := nats.Connect(p.address, nats.Timeout(30*time.Second))
	if err != nil {
		return nil, err
	}
	js, err := conn.JetStream(nats.MaxWait(30 * time.Second))
	if err != nil {
		return nil, err
	}
	pulls, err := js.PullSubscribe(subject, consumer, nats.Bind(stream, consumer))
	if err != nil {
		return nil, err
	}
	worker := &jetStreamWorker{conn: conn, pulls: pulls, most: most}
	if p.confirmed {
		worker.inbox = conn.NewRespInbox()
		worker.confirmations = make(chan *nats.Msg, most)
		_, err = conn.ChanSubscribe(worker.inbox, worker.confirmations)
	}
	return worker, err
}

func (p *jetStream) Settle(ctx context.Context) error {
	for {
		info, err := p.js.ConsumerInfo(stream, consumer, nats.Context(ctx))
		if err != nil {
			return err
		}
		if info.NumAckPending == 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

type jetStreamWorker struct {
	conn          *nats.Conn
	pulls         *nats.Subscription
	most          int
	inbox         string
	confirmations chan *nats.Msg // nil: acknowledgements are not answered
}

func (w *jetStreamWorker) Step(_ context.Context, done func(int)) (bool, error) {
	const patience = 20 * time.Second
	batch, err := w.pulls.FetchBatch(w.most, nats.MaxWait(patience))
	if err != nil {
		return false, err
	}
	taken, confirmed := 0, 0
	for message := range batch.Messages() {
		taken++
		if w.confirmations != nil {
			err = w.conn.PublishRequest(message.Reply, w.inbox, []byte("+ACK"))
		} else if err = message.Ack(); err == nil {
			done(1)
		}
		if err != nil {
			return false, err
		}
		for len(w.confirmations) > 0 {
			<-w.confirmations
			confirmed++
			done(1)
		}
	}
	if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) {
		return false, err
	}
	for w.confirmations != nil && confirmed < taken {
		select {
		case <-w.confirmations:
			confirmed++
			done(1)
		case <-time.After(patience):
			return false, errors.New("an acknowledgement is not confirmed")
		}
	}
	return taken > 0, nil
}
