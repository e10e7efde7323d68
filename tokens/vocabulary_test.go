package tokens

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

var update = flag.Bool("update", false, "write the vocabularies and the counts again")

// TestVocabulary proves that the embedded files are the published lists.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	for _, name := range []string{O200K, CL100K} {
		want := published(t, name)
		path := filepath.Join("vocabulary", name+".bin.gz")
		if *update {
			if err := os.WriteFile(path, packed(t, want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		z, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is not the published list: run this test with -update", path)
		}
	}
}

// published gives a vocabulary as vocabulary/README.md describes it.
func published(t *testing.T, name string) []byte {
	t.Helper()
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
	if err != nil {
		t.Fatal(err)
	}
	byRank := make([]string, len(ranks))
	for token, rank := range ranks {
		if rank < 0 || rank >= len(byRank) || byRank[rank] != "" || len(token) > 255 {
			t.Fatalf("%s has the rank %d twice, or not from 0 on", name, rank)
		}
		byRank[rank] = token
	}
	file := binary.LittleEndian.AppendUint32(nil, uint32(len(byRank)))
	for _, token := range byRank {
		file = append(file, byte(len(token)))
	}
	for _, token := range byRank {
		file = append(file, token...)
	}
	return file
}

func packed(t *testing.T, file []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadRefusesADamagedVocabulary(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "\x01", "\xff\xff\xff\xff", "\x01\x00\x00\x00", "\x01\x00\x00\x00\x02a", "\x01\x00\x00\x00\x01ab"} {
		if _, err := read(file); err == nil {
			t.Errorf("%q was read", file)
		}
		if _, err := unpack(file); err == nil {
			t.Errorf("%q was unpacked", file)
		}
	}
}
