package round_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// A result's images are there again after a crash, when a closed round is given back, and for a message that
// is encoded anew; each once, in order. A file that is gone leaves the placeholder.
func TestImagesAreReadBack(t *testing.T) {
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	gif := []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")
	shot := body("shot", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Blocks(
			tool.Content{Type: "text", Text: "before"}, tool.Content{Type: "image", Data: png, MIMEType: "image/png"},
			tool.Content{Type: "audio", Data: []byte("RIFF....WAVEfmt "), MIMEType: "audio/wav"},
			tool.Content{Type: "image", Data: gif, MIMEType: "image/gif"},
		), nil
	})
	s := open(t)
	cfg := round.Config{Tools: []tool.Tool{shot}}
	if _, err := round.Settle(t.Context(), &closing{Store: s}, round.Request{Conversation: "c", Key: "k", Calls: []tool.Call{{Name: "shot"}}}, cfg); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	// The crash came before the close, so its result was not stored either: it ran and is unknown. A second
	// call is stored and then crashes.
	settle(t, s, round.Request{Key: "k"}, cfg)
	first := settle(t, s, round.Request{Key: "l", Calls: []tool.Call{{Name: "shot"}}}, cfg)
	again := settle(t, s, round.Request{Key: "l"}, cfg)
	stored, err := s.ResultOf(t.Context(), "c", history.CallID{Round: 2, Index: 1})
	if err != nil {
		t.Fatal(err)
	}
	read, err := round.Images(t.Context(), s, "c", stored)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]result.Payload{"settled": first.Results[0].Images, "given back": again.Results[0].Images, "read": read} {
		var all []string
		for _, p := range got {
			all = append(all, p.MIMEType)
		}
		if d := cmp.Diff([]string{"image/png", "image/gif"}, all); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
			continue
		}
		if !bytes.Equal(got[0].Data, png) || !bytes.Equal(got[1].Data, gif) {
			t.Errorf("%s: the bytes are others", name)
		}
	}
	if err := s.Spills().Remove(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if read, err := round.Images(t.Context(), s, "c", stored); err != nil || len(read) != 0 {
		t.Errorf("with their files gone: %d images, %v", len(read), err)
	}
}
