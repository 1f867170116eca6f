package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// postgres is a table of items. A worker locks rows past those that others have locked, and deletes them in the same
// transaction: one commit and one round trip a step, the end of a transaction riding with the begin of the next. A lease is no
// more than the lock, and gone with the connection; marking rows as taken (an update more for each) was slower.
type postgres struct {
	address string
}

func newPostgres(address string) (Peer, error) {
	return &postgres{address: address}, nil
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
		"create table items (id bigint primary key)",
		"insert into items select id from source",
		"vacuum analyze items",
		"checkpoint")
}

func (p *postgres) Connect(ctx context.Context, _ int, most int) (Worker, error) {
	conn, err := pgx.Connect(ctx, p.address)
	return &postgresWorker{conn: conn, most: most}, err
}

func (p *postgres) Settle(context.Context) error { return nil }

type postgresWorker struct {
	conn *pgx.Conn
	most int
	held []int64
}

func (w *postgresWorker) Step(ctx context.Context, done func(int)) (bool, error) {
	batch := &pgx.Batch{}
	reported := len(w.held)
	if reported > 0 {
		batch.Queue("delete from items where id = any($1)", w.held)
		batch.Queue("commit")
	}
	batch.Queue("begin")
	batch.Queue("select id from items order by id limit $1 for update skip locked", w.most)
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
	if len(w.held) == 0 {
		if _, err := w.conn.Exec(ctx, "rollback"); err != nil {
			return false, err
		}
	}
	done(reported)
	return reported+len(w.held) > 0, nil
}
