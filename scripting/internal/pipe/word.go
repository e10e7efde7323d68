package pipe

import (
	"encoding/json"
	"time"

	"github.com/weir-run/weir/scripting/internal/realm"
	"github.com/weir-run/weir/tool"
)

// Greeting is the first thing that a script process says, when it is ready.
type Greeting struct {
	// Protocol is its [Protocol].
	Protocol int
	// Weir is the version of this module in its program, Build what tells its program from another build.
	Weir, Build string
}

// Job is a script to run; its code is the frame's text.
type Job struct {
	Args  []byte `json:",omitempty"`
	Tools []string
	Seed  uint64
	Now   time.Time
	// Limits are those of the engine, Wall that of the whole run.
	Limits realm.Limits
	Wall   time.Duration
}

// Request asks for a call or a stored result.
type Request struct {
	// Name is the tool of a call.
	Name string `json:",omitempty"`
	// ID, From, To, Pattern and Flags are those of the stored result.
	ID             string `json:",omitempty"`
	From, To       int64  `json:",omitempty"`
	Pattern, Flags string `json:",omitempty"`
}

// Reply answers a request. Of the frame's text the first Structured bytes are the structured view when
// HasStructured is set, the rest is the text.
type Reply struct {
	Of            Stored
	Large         bool         `json:",omitempty"`
	HasStructured bool         `json:",omitempty"`
	Structured    int          `json:",omitempty"`
	List          []Stored     `json:",omitempty"`
	Lines         []realm.Line `json:",omitempty"`
	// Error is thrown in the script; for a call it ends the run.
	Error string `json:",omitempty"`
}

// Ending says how a run ended; its value came before.
type Ending struct {
	HasValue bool
	Failure  string
	Failed   bool
	// Late says that the time was up.
	Late bool
}

// Stored is tool.Stored as it travels: arguments may be no JSON at all.
type Stored struct {
	ID, Tool            string `json:",omitempty"`
	Args                []byte `json:",omitempty"`
	Round               int    `json:",omitempty"`
	Bytes, Chars, Lines int64  `json:",omitempty"`
	IsError             bool   `json:",omitempty"`
	Path                string `json:",omitempty"`
}

// Pack makes a result's description ready to travel.
func Pack(s tool.Stored) Stored {
	return Stored{
		ID: s.ID, Tool: s.Tool, Args: s.Args, Round: s.Round,
		Bytes: s.Bytes, Chars: s.Chars, Lines: s.Lines, IsError: s.IsError, Path: s.Path,
	}
}

func (s Stored) unpack() tool.Stored {
	return tool.Stored{
		ID: s.ID, Tool: s.Tool, Args: json.RawMessage(s.Args), Round: s.Round,
		Bytes: s.Bytes, Chars: s.Chars, Lines: s.Lines, IsError: s.IsError, Path: s.Path,
	}
}
