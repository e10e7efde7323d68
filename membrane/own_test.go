package membrane_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

func TestOwn(t *testing.T) {
	t.Parallel()
	raw := membrane.Own("d", `m"<`, []byte(`{"z":1.0,"a":"<"}`))
	if diff := cmp.Diff(`{"dialect":"d","model":"m\"<","block":{"z":1.0,"a":"<"}}`, string(raw)); diff != "" {
		t.Error(diff)
	}
	model, block, ok := membrane.Owned("d", raw)
	if model != `m"<` || string(block) != `{"z":1.0,"a":"<"}` || !ok {
		t.Errorf("%q %s %v", model, block, ok)
	}
	for _, other := range []string{string(membrane.Own("e", "m", []byte(`1`))), `{"scripted_step":1}`, `{"dialect":"d","model":"m"}`, `[]`, `{`, ``} {
		if _, _, ok := membrane.Owned("d", []byte(other)); ok {
			t.Errorf("%s is taken for the dialect's own", other)
		}
	}
}
