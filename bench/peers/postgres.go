package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// postgres is a table of items. A worker locks rows past those that others have locked, and deletes them in the same
// transaction: one commit and one round trip a step, the end of a transaction riding with the begin of the next. A lease is no
// more than the lock, and gone with the connection; marking rows as taken (an update more for each) was slower.
//
// With one shard it is a queue as most people build it, and each worker steps over everything that the others hold. With more,
// each worker keeps to a shard of its own as long as there is something in it: then they are not in each other's way.
type postgres struct {
	address string
	shards  int
}

func newPostgres(address string, shards int) (Peer, error) {
	return &postgres{address: address, shards: shards}, nil
}

func (p *postgres) do(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, p.address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (p *postgres) Fill(ctx context.Context, items int) error {
	return p.do(ctx, "create table source as select generate_series(1, "+fmt.Sprint(items)+")::bigint as id")
}

func (p *postgres) Rewind(ctx context.Context) error {
	return p.do(ctx,
		"select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
		"drop table if exists items",
		"create table items (shard int not null, id bigint not null, primary key (shard, id))",
		fmt.Sprintf("insert into items select id %% %d, id from source order by 1, 2", p.shards),
		"vacuum analyze items",
		"checkpoint")
}

func (p *postgres) Connect(ctx context.Context, number int, most int) (Worker, error) {
	conn, err := pgx.Connect(ctx, p.address)
	return &postgresWorker{conn: conn, most: most, shards: p.shards, shard: number % p.shards}, err
}

func (p *postgres) Settle(context.Context) error { return nil }

type postgresWorker struct {
	conn   *pgx.Conn
	most   int
	shards int
	shard  int
	empty  int // so many shards, one after the other, had nothing
	held   []int64
}

func (w *postgresWorker) Step(ctx context.Context, done func(int)) (bool, error) {
	batch := &pgx.Batch{}
	reported := len(w.held)
	if reported > 0 {
		batch.Queue("delete from items where shard = $1 and id = any($2)", w.shard, w.held)
		batch.Queue("commit")
	}
	batch.Queue("begin")
	batch.Queue("select id from items where shard = $1 order by id limit $2 for update skip locked", w.shard, w.most)
	results := w.conn.SendBatch(ctx, batch)
	if reported > 0 {
		deleted, err := results.Exec()
		if err != nil {
			return false, err
		}
		if deleted.RowsAffected() != int64(reported) {
			return false, fmt.Errorf("%d items were reported, %d were there", reported, deleted.RowsAffected())
		}
		if _, err := results.Exec(); err != nil {
			return false, err
		}
	}
	if _, err := results.Exec(); err != nil {
		return false, err
	}
	rows, err := results.Query()
	if err != nil {
		return false, err
	}
	w.held = w.held[:0]
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return false, err
		}
		w.held = append(w.held, id)
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	if err := results.Close(); err != nil {
		return false, err
	}
	done(reported)
	if len(w.held) > 0 {
		w.empty = 0
		return true, nil
	}
	w.empty++
	w.shard = (w.shard + 1) % w.shards
	_, err = w.conn.Exec(ctx, "rollback")
	return w.empty < w.shards, err
}
