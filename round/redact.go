package round

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weir-run/weir/tool"
)

// MaxRedact is how much streamed output is held to be redacted, in bytes. What a tool writes beyond it is
// refused, since it could be stored only unseen.
const MaxRedact = 64 << 20

// heldOutput is the spool of a tool whose results are redacted: nothing of it may be stored before.
type heldOutput struct {
	mu    sync.Mutex
	text  strings.Builder
	ended bool
}

// Write takes output until there is too much of it.
func (h *heldOutput) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return 0, fmt.Errorf("write to the spool: the output has ended")
	}
	if h.text.Len()+len(p) > MaxRedact {
		return 0, fmt.Errorf("write to the spool: output that is redacted may have %d bytes", MaxRedact)
	}
	return h.text.Write(p)
}

// Chars counts the characters so far.
func (h *heldOutput) Chars() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int64(utf8.RuneCountInString(h.text.String()))
}

// finish ends the output.
func (h *heldOutput) finish() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	return h.text.String()
}

// redacted applies the host's redaction to a result and to the output that came before it. A redaction that
// panics lets nothing through.
func (w *work) redacted(c *call, r tool.Result) (kept tool.Result) {
	defer func() {
		if v := recover(); v != nil {
			w.settler.cfg.Logger.Error("the redaction of a result panicked", "result", c.id.String(), "panic", fmt.Sprint(v))
			kept = tool.Errorf("%s ran, and its result is withheld: its redaction failed", c.prepared.Call.Name)
		}
	}()
	if w.settler.cfg.Redact == nil {
		return r
	}
	if held := c.held.Load(); held != nil {
		out := held.finish()
		switch given, ok := r.Data.(tool.Spooled); {
		case ok && r.Error == "":
			r.Data = []byte(out + given.Tail)
		case r.IsError && out != "":
			r.Error = strings.TrimPrefix(out+"\n"+r.Error, "\n")
		}
	}
	return w.settler.cfg.Redact(w.durable, c.prepared.Call, r)
}
