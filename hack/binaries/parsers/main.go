// Answers what the API server's own parsers make of texts, for tests that compare ours with them.
//
// A question on stdin is a byte that says what is asked, four bytes of length (big endian), and that many bytes. The
// answer is a line of JSON on stdout; null where the text is refused.
//
//	q  resource.ParseQuantity: [MilliValue, Value]
//	j  Quantity.UnmarshalJSON: the same
//	n  a number of JSON, decoded and written again as Go does it, and then like j
//	s  two quantities with a zero byte between them: [Cmp, and of their sum MilliValue, Value]
//	d  time.ParseDuration: [nanoseconds]
//
// "far" means that the exponent of a quantity is so large that apimachinery would take minutes and gigabytes.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"log"
	"os"
	"regexp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

const far = 20_000

var (
	null        = []any(nil)
	tooFar      = "far"
	exponentEnd = regexp.MustCompile(`[eE]([+-]?[0-9]+)$`)
)

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(in, head); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		text := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(in, text); err != nil {
			log.Fatal(err)
		}
		line, err := json.Marshal(answer(head[0], text))
		if err != nil {
			log.Fatal(err)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			log.Fatal(err)
		}
		if err := out.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}

func answer(asked byte, text []byte) any {
	switch asked {
	case 'q':
		return values(func() (resource.Quantity, error) { return resource.ParseQuantity(string(text)) }, text)
	case 'j':
		return values(func() (resource.Quantity, error) { return decoded(text) }, text)
	case 'n':
		written, ok := rewritten(text)
		if !ok {
			return null
		}
		return values(func() (resource.Quantity, error) { return decoded(written) }, written)
	case 's':
		return compared(text)
	case 'd':
		duration, err := time.ParseDuration(string(text))
		if err != nil {
			return null
		}
		return []any{duration.Nanoseconds()}
	}
	log.Fatalf("nobody asks %q", asked)
	return null
}

func values(parse func() (resource.Quantity, error), text []byte) any {
	if isFar(text) {
		return tooFar
	}
	quantity, err := parse()
	if err != nil {
		return null
	}
	return []any{quantity.MilliValue(), quantity.Value()}
}

func decoded(text []byte) (resource.Quantity, error) {
	var quantity resource.Quantity
	err := quantity.UnmarshalJSON(text)
	return quantity, err
}

// A number as it arrives when a manifest was read into maps and written again.
func rewritten(text []byte) ([]byte, bool) {
	var number any
	if whole, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		number = whole
	} else if whole, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		number = whole
	} else if number, err = strconv.ParseFloat(string(text), 64); err != nil {
		return nil, false
	}
	written, err := json.Marshal(number)
	return written, err == nil
}

func compared(text []byte) any {
	left, right, found := bytes.Cut(text, []byte{0})
	if !found || isFar(left) || isFar(right) {
		return tooFar
	}
	one, err := resource.ParseQuantity(string(left))
	if err != nil {
		return null
	}
	other, err := resource.ParseQuantity(string(right))
	if err != nil {
		return null
	}
	order := one.Cmp(other)
	one.Add(other)
	return []any{order, one.MilliValue(), one.Value()}
}

// Exponents are read as apimachinery does it: 64 bits, of which it keeps 32.
func isFar(text []byte) bool {
	match := exponentEnd.FindSubmatch(bytes.TrimSpace(bytes.Trim(text, `"`)))
	if match == nil {
		return false
	}
	exponent, err := strconv.ParseInt(string(match[1]), 10, 64)
	return err == nil && (int32(exponent) > far || int32(exponent) < -far)
}
