import { deepEqual, equal, throws } from 'node:assert/strict';
import { test } from 'node:test';
import { Blob } from '#runtime/engine/guest/web/blob.ts';
import { fetchLocal, isLocal } from '#runtime/engine/guest/web/local-fetch.ts';
import { Request, takeRequest } from '#runtime/engine/guest/web/request.ts';
import { URL } from '#runtime/engine/guest/web/url.ts';
import { host } from '#runtime/engine/guest/host.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';

connectGuestHost();
host.atob = (text) => {
  try {
    return atob(text);
  } catch {
    return undefined;
  }
};

async function read(url: string): Promise<[string | null, number[]]> {
  const { method, url: href, blob } = takeRequest(new Request(url));
  const response = fetchLocal(method, href, blob);
  equal(response.status, 200);
  return [response.headers.get('content-type'), [...new Uint8Array(await response.arrayBuffer())]];
}

test('a data: URL gives its bytes and its type, as text or as base64', async () => {
  deepEqual(await read('data:,a%20b#c'), ['text/plain;charset=US-ASCII', [97, 32, 98]]);
  deepEqual(await read('data:;charset=utf-8,%ff'), ['text/plain;charset=utf-8', [255]]);
  deepEqual(await read('data:image/png;base64,AP8='), ['image/png', [0, 255]]);
  deepEqual(await read('data:image/png ; base64,AP%38='), ['image/png', [0, 255]]);
  deepEqual(await read('data:nonsense,x'), ['text/plain;charset=US-ASCII', [120]]);
});

test('a data: URL without a comma or with bad base64 is a network error', () => {
  throws(() => fetchLocal('GET', 'data:text/plain', null), TypeError);
  throws(() => fetchLocal('GET', 'data:;base64,a', null), TypeError);
});

test('a blob URL gives the blob it named when the request was made', async () => {
  const url = URL.createObjectURL(new Blob(['hi'], { type: 'text/x' }));
  equal(isLocal(url), true);
  equal(new URL(url).origin, 'null');
  const { blob } = takeRequest(new Request(`${url}#part`));
  URL.revokeObjectURL(url);
  const response = fetchLocal('GET', url, blob);
  deepEqual([response.headers.get('content-type'), response.headers.get('content-length')], ['text/x', '2']);
  equal(await response.text(), 'hi');
  throws(() => fetchLocal('POST', url, blob), TypeError);
  throws(() => fetchLocal('GET', url, takeRequest(new Request(url)).blob), TypeError);
});

test('only blobs get a URL', () => {
  throws(() => URL.createObjectURL({}), TypeError);
});
