package scripted_test

import (
	"io"
	"testing"

	"github.com/weir-run/weir/membrane"
)

func body(t *testing.T, r membrane.Request) string {
	t.Helper()
	data, err := io.ReadAll(r.Body())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
