package httpcontent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// IsURL says whether a source is fetched from another machine.
func IsURL(source string) bool {
	return strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://")
}

// answerTimeout is how long the server of a source may take to begin its answer.
const answerTimeout = 30 * time.Second

var client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: answerTimeout}}

// CheckURL returns why a source cannot be fetched.
func CheckURL(ctx context.Context, source string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	body, err := openURL(ctx, http.MethodHead, source)
	if err == nil {
		_ = body.Close()
	}
	return err
}

func openURL(ctx context.Context, method, source string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, source, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s answers %s", source, resp.Status)
	}
	return resp.Body, nil
}

// SumFiles returns the SHA-256 of a local source's file, or of all files of a directory by their paths below it. Links are followed; what is
// neither a file nor a directory is an error.
func SumFiles(source, directory string) (map[string]string, error) {
	if directory == "" {
		sum, err := sumFile(source)
		return map[string]string{"": sum}, err
	}
	all := map[string]string{}
	err := filepath.WalkDir(directory, func(at string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(at)
		if err != nil || info.IsDir() {
			return err
		}
		below, err := filepath.Rel(directory, at)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		if err := CheckPath("/" + below); err != nil {
			return fmt.Errorf("%s cannot be served: %w", at, err)
		}
		all[below], err = sumFile(at)
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("there is no file in %s", directory)
	}
	return all, err
}

func sumFile(at string) (string, error) {
	info, err := os.Stat(at)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", at)
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open(at) //nolint:gosec // it is what is to be served
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// openFile opens a file of the content, by its path below it.
func (c Content) openFile(ctx context.Context, below string) (io.ReadCloser, error) {
	switch {
	case c.Directory != "":
		return os.Open(filepath.Join(c.Directory, filepath.FromSlash(below)))
	case IsURL(c.Source):
		return openURL(ctx, http.MethodGet, c.Source)
	case c.Source != "":
		return os.Open(c.Source)
	}
	return io.NopCloser(bytes.NewReader([]byte(c.Text))), nil
}

// readPiece reads the next piece of a file, up to its length. Whether it was the last one is end.
func readPiece(from io.Reader, piece []byte) (n int, end bool, err error) {
	n, err = io.ReadFull(from, piece)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return n, true, nil
	}
	return n, false, err
}
