package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// words is the answer of a protocol whose events are words and whose last one is a full stop.
type words struct{ text []byte }

func (w *words) Read(e wire.Event) ([]membrane.Event, bool, error) {
	if bytes.Equal(e.Data, []byte(".")) {
		return nil, true, nil
	}
	w.text = append(w.text, e.Data...)
	return []membrane.Event{membrane.TextDelta{Text: string(e.Data)}}, false, nil
}

func (w *words) Done() (membrane.Done, error) {
	return membrane.Done{Fragment: w.text, Stop: membrane.StopEnd}, nil
}

// An adapter brings the path and what its events mean; a local server stands in the place of a provider.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %d bytes\n\ndata:  came\n\ndata: .\n\n", len(asked))
	}))
	defer server.Close()
	client, err := wire.New(wire.Config{
		Model: "example/words", BaseURL: server.URL,
		Fault: func(int, []byte) (wire.Fault, bool) { return wire.Fault{}, false },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	post := wire.Post{
		Path:    "speak",
		Request: membrane.Request{Head: []byte(`{"messages":[`), Messages: []byte(`"go"`), Tail: []byte(`]}`)},
		Answer:  func() wire.Answer { return &words{} },
	}
	for event, err := range client.Stream(context.Background(), post) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if done, ok := event.(membrane.Done); ok {
			fmt.Printf("%s\n", done.Fragment)
		}
	}
	// Output: 19 bytes came
}
