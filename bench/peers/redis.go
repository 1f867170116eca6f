package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

const group = "workers"

// redisStream is a stream with one consumer group. A step is one round trip, as a poll of drover's is: it acknowledges what
// the step before took, all ids in one command, and takes more.
type redisStream struct {
	address string
	own     *redis.Client
}

func newRedis(address string) (Peer, error) {
	return &redisStream{address: address, own: client(address)}, nil
}

func client(address string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: address, PoolSize: 1, MaxRetries: -1, DialTimeout: 30e9, ReadTimeout: 60e9,
		WriteTimeout: 60e9, PoolTimeout: 60e9, DisableIndentity: true})
}

func (p *redisStream) Fill(ctx context.Context, items int) error {
	const atATime = 10_000
	for first := 0; first < items; first += atATime {
		pipeline := p.own.Pipeline()
		for i := first; i < items && i < first+atATime; i++ {
			pipeline.XAdd(ctx, &redis.XAddArgs{Stream: subject, Values: []any{"n", i}})
		}
		if _, err := pipeline.Exec(ctx); err != nil {
			return err
		}
	}
	length, err := p.own.XLen(ctx, subject).Result()
	if err == nil && length != int64(items) {
		err = fmt.Errorf("the stream has %d entries, not %d", length, items)
	}
	return err
}

func (p *redisStream) Rewind(ctx context.Context) error {
	if err := p.own.XGroupDestroy(ctx, subject, group).Err(); err != nil && !strings.Contains(err.Error(), "NOGROUP") {
		return err
	}
	return p.own.XGroupCreate(ctx, subject, group, "0").Err()
}

func (p *redisStream) Connect(ctx context.Context, number, most int) (Worker, error) {
	worker := &redisWorker{client: client(p.address), name: fmt.Sprint(number), most: most}
	return worker, worker.client.Ping(ctx).Err()
}

func (p *redisStream) Settle(context.Context) error { return nil }

type redisWorker struct {
	client *redis.Client
	name   string
	most   int
	held   []string
}

func (w *redisWorker) Step(ctx context.Context, done func(int)) (bool, error) {
	pipeline := w.client.Pipeline()
	var acknowledged *redis.IntCmd
	if len(w.held) > 0 {
		acknowledged = pipeline.XAck(ctx, subject, group, w.held...)
	}
	taken := pipeline.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: w.name, Streams: []string{subject, ">"}, Count: int64(w.most), Block: -1})
	if _, err := pipeline.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	reported := len(w.held)
	if acknowledged != nil && acknowledged.Val() != int64(reported) {
		return false, fmt.Errorf("%d items were reported, %d were held", reported, acknowledged.Val())
	}
	w.held = w.held[:0]
	for _, one := range taken.Val() {
		for _, message := range one.Messages {
			w.held = append(w.held, message.ID)
		}
	}
	done(reported)
	return reported+len(w.held) > 0, nil
}
