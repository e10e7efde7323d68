package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weir-run/weir/membrane"
)

// ErrNotRunning says that no turn of the conversation is running here that could take a message.
var ErrNotRunning = errors.New("no turn of this conversation is running")

// Send gives a message to the running turn of a conversation. It is taken at the next round boundary, or
// instead of the turn's end, and Send returns when it is stored. It fails with [ErrNotRunning] when the
// turn ended before it could be taken; then nothing was stored.
func (a *Agent) Send(ctx context.Context, conversation string, t Turn) error {
	if t.Text == "" && len(t.Content) == 0 {
		return ErrNoText
	}
	l := &letter{message: asked(t), stored: make(chan error, 1)}
	if !a.sent.put(conversation, l) {
		return fmt.Errorf("send to %s: %w", conversation, ErrNotRunning)
	}
	select {
	case err := <-l.stored:
		if err != nil {
			return fmt.Errorf("send to %s: %w", conversation, err)
		}
		return nil
	case <-ctx.Done():
		// It may still be taken: a message that was given away cannot be called back.
		return ctx.Err()
	}
}

// asked is a turn's message: what is true, what is shown, what is said.
func asked(t Turn) membrane.Message {
	m := membrane.Message{Role: membrane.User}
	if t.Context != "" {
		m.Blocks = append(m.Blocks, membrane.Block{Type: membrane.Text, Text: clean(t.Context)})
	}
	m.Blocks = append(m.Blocks, t.Content...)
	if t.Text != "" {
		m.Blocks = append(m.Blocks, membrane.Block{Type: membrane.Text, Text: clean(t.Text)})
	}
	return m
}

// letter is a message that waits to be taken.
type letter struct {
	message membrane.Message
	stored  chan error
}

// mailbox holds what was sent to the running turns of an agent.
type mailbox struct {
	mu      sync.Mutex
	waiting map[string][]*letter
}

// open lets a conversation take messages; what it returns ends that and gives back what was not taken.
func (m *mailbox) open(conversation string) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = map[string][]*letter{}
	}
	m.waiting[conversation] = []*letter{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, l := range m.waiting[conversation] {
			l.stored <- ErrNotRunning
		}
		delete(m.waiting, conversation)
	}
}

func (m *mailbox) put(conversation string, l *letter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting[conversation] == nil {
		return false
	}
	m.waiting[conversation] = append(m.waiting[conversation], l)
	return true
}

// take gives all that waits.
func (m *mailbox) take(conversation string) []*letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting[conversation]) == 0 {
		return nil
	}
	all := m.waiting[conversation]
	m.waiting[conversation] = []*letter{}
	return all
}

// done tells the senders how it went.
func done(letters []*letter, err error) {
	for _, l := range letters {
		l.stored <- err
	}
}
