package numbertext

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// rewritten returns a value whose numbers are texts; the value itself stays as it is.
func rewritten(v *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
	if v == nil || len(v.MsgPack) == 0 {
		return v, nil
	}
	var b bytes.Buffer
	b.Grow(len(v.MsgPack) + len(v.MsgPack)/8)
	if err := rewrite(msgpack.NewDecoder(bytes.NewReader(v.MsgPack)), msgpack.NewEncoder(&b)); err != nil {
		return nil, fmt.Errorf("numbers on their way to Terraform: %w", err)
	}
	return &tfprotov6.DynamicValue{MsgPack: b.Bytes()}, nil
}

// rewrite copies one value with all that is in it. A value of a dynamic type is a list of the type, in bytes, and the value.
func rewrite(in *msgpack.Decoder, out *msgpack.Encoder) error {
	code, err := in.PeekCode()
	switch {
	case err != nil:
		return err
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		count, err := in.DecodeMapLen()
		if err != nil {
			return err
		}
		return rewriteAll(in, out, 2*count, out.EncodeMapLen(count))
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		count, err := in.DecodeArrayLen()
		if err != nil {
			return err
		}
		return rewriteAll(in, out, count, out.EncodeArrayLen(count))
	case code == msgpcode.Uint64:
		n, err := in.DecodeUint64()
		if err != nil {
			return err
		}
		return out.EncodeString(strconv.FormatUint(n, 10))
	case msgpcode.IsFixedNum(code), code >= msgpcode.Uint8 && code <= msgpcode.Int64:
		n, err := in.DecodeInt64()
		if err != nil {
			return err
		}
		return out.EncodeString(strconv.FormatInt(n, 10))
	case code == msgpcode.Float, code == msgpcode.Double:
		f, err := in.DecodeFloat64()
		if err != nil {
			return err
		}
		return out.EncodeString(strconv.FormatFloat(f, 'f', -1, 64))
	}
	raw, err := in.DecodeRaw() // a text, a bool, null, unknown
	if err != nil {
		return err
	}
	return out.Encode(raw)
}

func rewriteAll(in *msgpack.Decoder, out *msgpack.Encoder, count int, err error) error {
	for i := 0; i < count && err == nil; i++ {
		err = rewrite(in, out)
	}
	return err
}
