// Workers of other queues that do nothing but take items and report them done, as fast as a server lets them: what
// lease_ack_load does for drover. A worker is a goroutine with a connection of its own.
//
//	peers_load PEER ADDRESS fill ITEMS                        puts so many items there
//	peers_load PEER ADDRESS take CONNECTIONS ITEMS SECONDS    takes so many at a time; all of them are there again the next time
//
// Prints one line of JSON when the measured time begins, and another when it has ended.
//
// PEER is nats, nats-confirmed, postgres or redis.
package main

import (
	"context"
	"fmt"
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
	// Step reports what the step before took and takes more, or both for the same items. It gives how many it has reported; none in
	// the first step, perhaps, and -1 when there are no more items.
	Step(ctx context.Context) (int, error)
}

const dry = -1

func choose(name, address string) (Peer, error) {
	switch name {
	case "nats":
		return newNats(address, false)
	case "nats-confirmed":
		return newNats(address, true)
	case "postgres":
		return newPostgres(address)
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
	for _, worker := range workers {
		go func(worker Worker) {
			defer func() { ended <- struct{}{} }()
			for !stop.Load() {
				reported, err := worker.Step(ctx)
				if err != nil {
					failed <- err
					return
				}
				if reported == dry {
					ranDry.Store(true)
					return
				}
				done.Add(int64(reported))
				steps.Add(1)
			}
		}(worker)
	}
	// The first fifth is for warming up. What was reported and not yet taken note of counts only with the time that takes.
	wait := func(seconds float64) {
		for until := time.Now().Add(time.Duration(seconds * 1e9)); !ranDry.Load() && time.Now().Before(until); {
			time.Sleep(2 * time.Millisecond)
		}
	}
	wait(seconds / 5)
	warmDry := ranDry.Load()
	fmt.Println("{\"measuring\": true}")
	start, doneBefore, stepsBefore := time.Now(), done.Load(), steps.Load()
	wait(seconds)
	stop.Store(true)
	out := result{items: done.Load() - doneBefore, steps: steps.Load() - stepsBefore, seconds: time.Since(start).Seconds(), ranDry: ranDry.Load()}
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
