package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	codes "modernc.org/sqlite/lib"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/migrations"
)

const (
	// applicationID marks a database as ours: "Weir".
	applicationID = 0x57656972
	// lockWait is how long opening waits for another process that brings the store up to date.
	lockWait = time.Minute
	lockPoll = 5 * time.Millisecond
)

// openUpToDate opens the pool of readers, after the database was made or brought up to date where that
// is needed. An up-to-date database is only read.
func openUpToDate(ctx context.Context, dir string, cfg Config) (*sql.DB, error) {
	known, err := newest()
	if err != nil {
		return nil, err
	}
	reader, version, err := probe(ctx, dir, cfg)
	if err == nil && version == known {
		return reader, nil
	}
	if reader != nil {
		err = one(err, reader.Close())
	}
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, dir, cfg, known); err != nil {
		return nil, err
	}
	reader, version, err = probe(ctx, dir, cfg)
	switch {
	case err != nil:
		return nil, err
	case version != known:
		return nil, one(fmt.Errorf("the schema has version %d after all migrations to %d", version, known), reader.Close())
	}
	return reader, nil
}

// openToRead opens the pool of readers and nothing else.
func openToRead(ctx context.Context, dir string, cfg Config) (*sql.DB, error) {
	known, err := newest()
	if err != nil {
		return nil, err
	}
	reader, version, err := probe(ctx, dir, cfg)
	if err != nil {
		return nil, err
	}
	switch version {
	case known:
		return reader, nil
	case -1:
		return nil, fmt.Errorf("%w: it has no %s", ErrNoStore, dbName)
	}
	err = fmt.Errorf("the store has schema %d and this program reads %d: open it once for writing to bring it up to date", version, known)
	return nil, one(err, reader.Close())
}

func newest() (int64, error) {
	folder, err := migrations.SQLite()
	if err != nil {
		return 0, err
	}
	return migrations.Newest(folder)
}

// probe opens the pool of readers and reads the version of the schema: 0 for an empty database, and -1,
// with no pool, for none at all. A newer version than the program knows is an error.
func probe(ctx context.Context, dir string, cfg Config) (*sql.DB, int64, error) {
	path := filepath.Join(dir, dbName)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, -1, nil
	case err != nil:
		return nil, 0, unwritable(err)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a file: choose another folder", dbName)
	case info.Size() == 0 && !cfg.ReadOnly:
		return nil, -1, nil // made, and not written yet
	}
	if cfg.ReadOnly {
		return probeToRead(ctx, path, cfg)
	}
	return probeWith(ctx, path, cfg.reading(), cfg.Readers)
}

// probeToRead finds the way to read a database that leaves nothing behind. While no log stands beside it,
// a connection that could write removes the files that it makes to read; one that cannot would leave
// them. A log with contents is left as it is, which takes one that cannot write. And where SQLite may make
// no file beside a database without a log, nobody changes it meanwhile either.
func probeToRead(ctx context.Context, path string, cfg Config) (*sql.DB, int64, error) {
	ways := []map[string]string{{"mode": "rw"}, {"mode": "ro"}, {"mode": "ro", "immutable": "1"}}
	if !still(path) {
		ways = ways[1:2]
	}
	var reader *sql.DB
	var version int64
	var err error
	for _, way := range ways {
		settings := cfg.reading()
		for k, v := range way {
			settings.params.Set(k, v)
		}
		reader, version, err = probeWith(ctx, path, settings, cfg.Readers)
		if c := code(err); c != codes.SQLITE_CANTOPEN && c != codes.SQLITE_READONLY && c != codes.SQLITE_PERM && c != codes.SQLITE_IOERR {
			return reader, version, err
		}
	}
	return nil, 0, fmt.Errorf("it was not closed in order, and to read it %s must be made (%w): copy the folder to where you can write, and open the copy",
		dbName+"-shm", err)
}

// still says that no log with contents stands beside a database.
func still(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

func probeWith(ctx context.Context, path string, s settings, n int) (*sql.DB, int64, error) {
	reader, err := s.open(path, n)
	if err != nil {
		return nil, 0, err
	}
	version, err := versionOf(ctx, reader)
	if err != nil {
		return nil, 0, one(plain(err), reader.Close())
	}
	return reader, version, nil
}

func versionOf(ctx context.Context, pool *sql.DB) (int64, error) {
	var app, tables, versions int64
	err := pool.QueryRowContext(ctx, "SELECT count(*), count(CASE WHEN name = ? THEN 1 END) FROM sqlite_schema",
		goose.DefaultTablename).Scan(&tables, &versions)
	if err != nil {
		return 0, err
	}
	if versions == 0 {
		if tables > 0 {
			return 0, fmt.Errorf("%s is the database of another program: choose another folder", dbName)
		}
		return 0, nil
	}
	known, err := newest()
	if err != nil {
		return 0, err
	}
	var version int64
	row := pool.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+goose.DefaultTablename+" WHERE is_applied")
	if err := row.Scan(&version); err != nil {
		return 0, err
	}
	// The last of the questions: another process may be making the store, which gets its id with its first
	// version.
	if err := pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, err
	}
	switch {
	case version > 0 && app != applicationID:
		return 0, fmt.Errorf("%s is the database of another program: choose another folder", dbName)
	case version > known:
		return 0, fmt.Errorf("%w: it has schema %d and this program knows %d: use the newer program", history.ErrNewer, version, known)
	}
	return version, nil
}

// migrate makes the folder and the database, or brings it up to date, under a lock that all processes
// share. Inside, the version is read again: somebody else may have done it while we waited.
func migrate(ctx context.Context, dir string, cfg Config, known int64) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unwritable(err)
	}
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(filepath.Join(dir, lockName))
	if _, err := lock.TryLockContext(waiting, lockPoll); err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("another process has been bringing the store up to date for more than %s: wait for it, or stop it", lockWait)
		}
		return unwritable(err)
	}
	defer func() { err = one(err, lock.Unlock()) }()
	reader, version, err := probe(ctx, dir, cfg)
	if reader != nil {
		err = one(err, reader.Close())
	}
	if err != nil || version == known {
		return err
	}
	if version < 0 {
		if err := ignore(dir); err != nil {
			return unwritable(err)
		}
	}
	return plain(apply(ctx, dir, cfg))
}

func apply(ctx context.Context, dir string, cfg Config) (err error) {
	folder, err := migrations.SQLite()
	if err != nil {
		return err
	}
	pool, err := cfg.writing().open(filepath.Join(dir, dbName), 1)
	if err != nil {
		return err
	}
	defer func() { err = one(err, pool.Close()) }()
	provider, err := goose.NewProvider(goose.DialectSQLite3, pool, folder,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate %s: %w", dbName, err)
	}
	return nil
}

// ignore writes the folder's own .gitignore, unless the folder holds something that is not ours: there it
// could hide somebody's work.
func ignore(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == lockName, name == holdersName, name == spillsName, strings.HasPrefix(name, dbName):
		default:
			return nil
		}
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// unwritable says what to do about a folder that the system refuses.
func unwritable(err error) error {
	return fmt.Errorf("the folder cannot be used (%w): give this user the right to write there, or choose another folder", err)
}
