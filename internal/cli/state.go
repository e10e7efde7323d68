package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
)

// latest is the word for the conversation that was made last.
const latest = "latest"

// openToRead opens the state for reading. Nothing is written, and the folder need not be writable.
func (a *app) openToRead(ctx context.Context) (history.Store, error) {
	store, err := a.openState(ctx, sqlite.Config{ReadOnly: true})
	if errors.Is(err, sqlite.ErrNoStore) {
		return nil, fmt.Errorf("%w %s: weir run makes one, --dir or WEIR_DIR name another folder", errNoState, a.dir())
	}
	if err != nil {
		return nil, err
	}
	return store, nil
}

// errNoState says that nothing was ever stored.
var errNoState = errors.New("there is no state in")

// openToWrite opens the state for a run; it is made when it is not there.
func (a *app) openToWrite(ctx context.Context) (history.Store, error) {
	store, err := a.openState(ctx, sqlite.Config{})
	if err != nil {
		return nil, err
	}
	return store, nil
}

func (a *app) openState(ctx context.Context, cfg sqlite.Config) (*sqlite.Store, error) {
	if info, err := os.Stat(a.dir()); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder: the state lies in a folder, name another with --dir or WEIR_DIR", a.dir())
	}
	return sqlite.Open(ctx, a.dir(), cfg)
}

// find reads a conversation: the one of an id, or the one that was made last.
func (a *app) find(ctx context.Context, store history.Reader, id string) (history.Conversation, error) {
	if id != "" && id != latest {
		if err := checkID(id); err != nil {
			return history.Conversation{}, err
		}
		c, err := store.Conversation(ctx, id)
		if errors.Is(err, history.ErrNotFound) {
			return c, fmt.Errorf("%w %s in %s: weir history list shows those that are there", errNoConversation, id, a.dir())
		}
		return c, err
	}
	list, err := store.Conversations(ctx, 1)
	if err != nil {
		return history.Conversation{}, err
	}
	if len(list) == 0 {
		return history.Conversation{}, fmt.Errorf("%w in %s yet: weir run begins one", errNoConversation, a.dir())
	}
	return list[0], nil
}

// errNoConversation says that a conversation is not there.
var errNoConversation = errors.New("there is no conversation")

// checkID refuses an id that cannot name a conversation.
func checkID(id string) error {
	bad := func(why string) error {
		return misuse("conversation id %q %s: use 1 to 100 of A-Z a-z 0-9 . _ - and no dot in front", clip(id, 40), why)
	}
	switch {
	case id == "":
		return bad("is empty")
	case len(id) > 100:
		return bad("is too long")
	case id[0] == '.':
		return bad("begins with a dot")
	case id[len(id)-1] == '.':
		return bad("ends in a dot")
	}
	for _, r := range id {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		default:
			return bad(fmt.Sprintf("contains %q", r))
		}
	}
	return nil
}

// closing joins the error of closing a store to what went wrong before.
func closing(store history.Store, err *error) { *err = errors.Join(*err, store.Close()) }

// command writes a command line that works on the same state.
func (a *app) command(words ...string) string {
	line := "weir"
	if a.dirFlag != "" {
		line += " --dir " + quoted(a.dirFlag)
	}
	for _, w := range words {
		line += " " + quoted(w)
	}
	return line
}
