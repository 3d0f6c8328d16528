package largemap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// unknownOnWire is Terraform's unknown value without refinements: an extension of type 0.
var unknownOnWire = msgpack.RawMessage{0xd4, 0, 0}

// names are the packed attributes of one resource type.
type names map[string]bool

// packObject returns an object as the framework takes it; the value itself stays as it is.
func (n names) packObject(v *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
	return n.rewriteObject(v, packValue)
}

// unpackObject is the inverse of packObject.
func (n names) unpackObject(v *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
	return n.rewriteObject(v, unpackValue)
}

// rewriteObject copies an object on the wire, with its packed attributes by way of rewrite and all others byte by byte.
func (n names) rewriteObject(v *tfprotov6.DynamicValue, rewrite func(*msgpack.Decoder, *msgpack.Encoder) error) (*tfprotov6.DynamicValue, error) {
	if len(n) == 0 || v == nil || len(v.MsgPack) == 0 {
		return v, nil
	}
	in := msgpack.NewDecoder(bytes.NewReader(v.MsgPack))
	if code, err := in.PeekCode(); err != nil || !isMap(code) {
		return v, err // null and unknown objects have no attributes
	}
	count, err := in.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(len(v.MsgPack) + len(v.MsgPack)/4)
	out := msgpack.NewEncoder(&b)
	out.SetSortMapKeys(true)
	if err := out.EncodeMapLen(count); err != nil {
		return nil, err
	}
	for range count {
		name, err := in.DecodeString()
		if err != nil {
			return nil, err
		}
		if err := out.EncodeString(name); err != nil {
			return nil, err
		}
		if n[name] {
			err = rewrite(in, out)
		} else {
			err = copyValue(in, out)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &tfprotov6.DynamicValue{MsgPack: b.Bytes()}, nil
}

func copyValue(in *msgpack.Decoder, out *msgpack.Encoder) error {
	raw, err := in.DecodeRaw()
	if err != nil {
		return err
	}
	return out.Encode(raw)
}

func packValue(in *msgpack.Decoder, out *msgpack.Encoder) error {
	content, err := decodeContent(in)
	if err != nil {
		return err
	}
	switch content.(type) {
	case nil:
		return out.EncodeNil()
	case Unknown:
		return out.Encode(unknownOnWire)
	}
	text, err := toText(content)
	if err != nil {
		return err
	}
	return out.EncodeString(text)
}

func unpackValue(in *msgpack.Decoder, out *msgpack.Encoder) error {
	content, err := decodeContent(in)
	if err != nil {
		return err
	}
	if text, ok := content.(string); ok {
		if content, err = fromText([]byte(text)); err != nil {
			return err
		}
	}
	return encodeContent(out, content)
}

// decodeContent reads strings, lists and maps of them. What Terraform knows of an unknown value (its refinements) is left out:
// unknown is all that matters here.
func decodeContent(in *msgpack.Decoder) (any, error) {
	code, err := in.PeekCode()
	switch {
	case err != nil:
		return nil, err
	case code == msgpcode.Nil:
		return nil, in.DecodeNil()
	case msgpcode.IsExt(code):
		return Unknown{}, in.Skip()
	case msgpcode.IsString(code):
		return in.DecodeString()
	case isMap(code):
		count, err := in.DecodeMapLen()
		content := make(map[string]any, count)
		for range count {
			key, keyErr := in.DecodeString()
			if keyErr != nil {
				return nil, keyErr
			}
			if content[key], err = decodeContent(in); err != nil {
				return nil, err
			}
		}
		return content, err
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		count, err := in.DecodeArrayLen()
		content := make([]any, max(count, 0))
		for i := range content {
			if content[i], err = decodeContent(in); err != nil {
				return nil, err
			}
		}
		return content, err
	}
	return nil, fmt.Errorf("only strings are packed, not %#x on the wire", code)
}

func isMap(code byte) bool {
	return msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32
}

func encodeContent(out *msgpack.Encoder, content any) error {
	switch c := content.(type) {
	case nil:
		return out.EncodeNil()
	case Unknown:
		return out.Encode(unknownOnWire)
	case string:
		return out.EncodeString(c)
	case []any:
		err := out.EncodeArrayLen(len(c))
		for _, e := range c {
			if err == nil {
				err = encodeContent(out, e)
			}
		}
		return err
	case map[string]any:
		err := out.EncodeMapLen(len(c))
		for k, e := range c {
			if err == nil {
				err = errors.Join(out.EncodeString(k), encodeContent(out, e))
			}
		}
		return err
	}
	return fmt.Errorf("only strings are packed, not %T", content)
}

// packState packs a state as Terraform stores it: one of this schema's version holds the values, and the framework
// wants the text.
func (n names) packState(s *tfprotov6.RawState) (*tfprotov6.RawState, error) {
	if len(n) == 0 || s == nil || len(s.JSON) == 0 {
		return s, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(s.JSON, &object); err != nil || object == nil {
		return s, err
	}
	for name := range n {
		raw, ok := object[name]
		if !ok || string(raw) == "null" {
			continue
		}
		content, err := fromText(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text, err := toText(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if object[name], err = json.Marshal(text); err != nil {
			return nil, err
		}
	}
	packed, err := json.Marshal(object)
	return &tfprotov6.RawState{JSON: packed, Flatmap: s.Flatmap}, err
}
