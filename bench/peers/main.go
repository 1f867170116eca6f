// Workers of other queues that do nothing but take items and report them done, as fast as a server lets them: what
// lease_ack_load does for drover. A worker is a goroutine with a connection of its own.
//
//	peers_load PEER ADDRESS fill ITEMS                        puts so many items there
//	peers_load PEER ADDRESS take CONNECTIONS ITEMS SECONDS    takes so many at a time; all of them are there again the next time
//
// Prints one line of JSON when the measured time begins, and another when it has ended; connections stay until standard input ends.
//
// PEER is nats, nats-confirmed, nats-messages, postgres, postgres-sharded or redis.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Peer is a queue that holds items.
type Peer interface {
	Fill(ctx context.Context, items int) error
	// Rewind makes all items there to be taken, again.
	Rewind(ctx context.Context) error
	Connect(ctx context.Context, number int, most int) (Worker, error)
	// Settle waits until whatever was reported has been taken note of.
	Settle(ctx context.Context) error
}

// Worker is one connection.
type Worker interface {
	// Step takes items and reports items done, those or the ones of the step before, and calls done as they are. False: there are
	// no more.
	Step(ctx context.Context, done func(items int)) (bool, error)
}

func choose(name, address string) (Peer, error) {
	switch name {
	case "nats":
		return newNats(address, false)
	case "nats-confirmed":
		return newNats(address, true)
	case "nats-messages":
		return newNatsMessages(address)
	case "postgres":
		return newPostgres(address, 1)
	case "postgres-sharded":
		return newPostgres(address, 64)
	case "redis":
		return newRedis(address)
	}
	return nil, fmt.Errorf("there is no peer called %q", name)
}

// connect gives all workers, a few dozen coming at a time.
func connect(ctx context.Context, peer Peer, connections, items int) ([]Worker, error) {
	const atATime = 32
	workers := make([]Worker, connections)
	failed := make(chan error, connections)
	room := make(chan struct{}, atATime)
	var all sync.WaitGroup
	for i := range workers {
		all.Add(1)
		room <- struct{}{}
		go func(i int) {
			defer all.Done()
			worker, err := peer.Connect(ctx, i, items)
			if err != nil {
				failed <- err
			}
			workers[i] = worker
			<-room
		}(i)
	}
	all.Wait()
	select {
	case err := <-failed:
		return nil, err
	default:
		return workers, nil
	}
}

// Seconds.
const mostWarmUp = 10

type result struct {
	items, steps      int64
	seconds, settling float64
	ranDry            bool
}

func take(ctx context.Context, peer Peer, connections, items int, seconds float64) (result, error) {
	if err := peer.Rewind(ctx); err != nil {
		return result{}, err
	}
	workers, err := connect(ctx, peer, connections, items)
	if err != nil {
		return result{}, err
	}
	var done, steps atomic.Int64
	var stop, ranDry atomic.Bool
	failed := make(chan error, connections)
	ended := make(chan struct{}, connections)
	stepping, stopStepping := context.WithCancel(ctx)
	defer stopStepping()
	for _, worker := range workers {
		go func(worker Worker) {
			defer func() { ended <- struct{}{} }()
			for !stop.Load() {
				more, err := worker.Step(stepping, func(items int) { done.Add(int64(items)) })
				if err != nil && stop.Load() {
					return // cut off in the middle of a step that takes too long
				}
				if err != nil {
					failed <- err
					return
				}
				if !more {
					ranDry.Store(true)
					return
				}
				steps.Add(1)
			}
		}(worker)
	}
	wait := func(seconds float64, enough func() bool) {
		for until := time.Now().Add(time.Duration(seconds * 1e9)); !ranDry.Load() && !enough() && time.Now().Before(until); {
			time.Sleep(2 * time.Millisecond)
		}
	}
	// A fifth of the time is for warming up, and more until there were as many steps as connections.
	never := func() bool { return false }
	wait(seconds/5, never)
	wait(mostWarmUp, func() bool { return steps.Load() >= int64(connections) })
	warmDry := ranDry.Load()
	fmt.Println("{\"measuring\": true}")
	start, doneBefore, stepsBefore := time.Now(), done.Load(), steps.Load()
	wait(seconds, never)
	stop.Store(true)
	out := result{items: done.Load() - doneBefore, steps: steps.Load() - stepsBefore, seconds: time.Since(start).Seconds(), ranDry: ranDry.Load()}
	stopStepping()
	for range workers {
		<-ended
	}
	select {
	case err := <-failed:
		return out, err
	default:
	}
	if warmDry {
		return out, fmt.Errorf("there were too few items for even a fifth of the time")
	}
	settle := time.Now()
	if err := peer.Settle(ctx); err != nil {
		return out, err
	}
	out.settling = time.Since(settle).Seconds()
	return out, nil
}

func run(words []string) error {
	if len(words) < 5 {
		return fmt.Errorf("usage: peers_load PEER ADDRESS fill ITEMS | take CONNECTIONS ITEMS SECONDS")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	peer, err := choose(words[1], words[2])
	if err != nil {
		return err
	}
	var numbers []float64
	for _, word := range words[4:] {
		number, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return err
		}
		numbers = append(numbers, number)
	}
	switch {
	case words[3] == "fill" && len(numbers) == 1:
		start := time.Now()
		if err := peer.Fill(ctx, int(numbers[0])); err != nil {
			return err
		}
		fmt.Printf("{\"items\": %.0f, \"seconds\": %.6f}\n", numbers[0], time.Since(start).Seconds())
	case words[3] == "take" && len(numbers) == 3:
		out, err := take(ctx, peer, int(numbers[0]), int(numbers[1]), numbers[2])
		if err != nil {
			return err
		}
		fmt.Printf("{\"items\": %d, \"steps\": %d, \"seconds\": %.6f, \"settling_seconds\": %.6f, \"ran_dry\": %t}\n", out.items,
			out.steps, out.seconds, out.settling, out.ranDry)
		io.Copy(io.Discard, os.Stdin)
	default:
		return fmt.Errorf("cannot %q with %d numbers", words[3], len(numbers))
	}
	return nil
}

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "peers_load: %v\n", err)
		os.Exit(1)
	}
}
