// The listener contract over uWebSockets.js, where it loads; what it does otherwise is listed here with the reason.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadUws, openUwsListener } from '#runtime/engine/http/listener-uws.ts';
import { listenerSuite, type Skip } from './listener.ts';

const skip: Skip[] = [
  {
    title: 'in absolute form is handed over in origin form, with the host of the URL',
    reason: 'answers absolute targets with 505',
  },
  { title: 'keeps the bytes of a Latin-1 header value', reason: 'reads header values as UTF-8' },
  {
    title: 'with 100 headers and with 1,000 headers is handed over whole',
    reason: 'answers about 100 headers and more with 431',
  },
  { title: 'has one date, and the one that the worker set', reason: 'always writes its own date' },
  { title: 'sends its head before the first chunk', reason: 'has no way to write the end of the head without a chunk' },
  { title: 'to HTTP/1.0 ends with the connection', reason: 'answers HTTP/1.0 with 505' },
  { title: 'is cut when its client stops taking it', reason: 'has a fixed time limit of 10 s' },
  { title: 'that stops coming is cut', reason: 'has a fixed time limit of 10 s' },
  { title: 'headers that do not arrive in time close the connection', reason: 'has a fixed time limit of 10 s' },
  { title: 'a connection idle for longer than the limit is closed', reason: 'has a fixed time limit of 10 s' },
  { title: 'in chunks loses their extensions', reason: 'ends the connection at a chunk extension' },
  { title: 'in chunks loses its trailers', reason: 'answers trailers with 505' },
  {
    title: 'that the client announces is not asked for when the handler answers without it',
    reason: 'asks for every announced body itself',
  },
  { title: 'without a version is answered 400', reason: 'waits for more and closes after 10 s' },
  { title: 'with an empty header name is answered 400', reason: 'takes an empty name for the end of the headers' },
  { title: 'with a lone CR in a header value is answered 400', reason: 'waits for more and closes after 10 s' },
  {
    title: 'with a chunk longer than its size ends in an error, and the handler is told',
    reason: 'does not check the line end behind a chunk',
  },
  {
    title: 'above the limit takes the place of the one that has waited longest without a request',
    reason: 'keeps no list of its connections: the new one is closed',
  },
  {
    title: 'answers pipelined requests in order when they are answered in another',
    reason: 'cuts a connection that sends a request before the answer',
  },
  {
    title: 'whose body turns out malformed ends the connection after the answers to those before it',
    reason: 'cuts a connection that sends a request before the answer',
  },
  {
    title: 'may be any other response, after which the connection ends',
    reason: 'can end the connection after a stream only where the client asked for it',
  },
  {
    title: 'comes in order when frames follow the handshake in one packet',
    reason: 'takes what comes before the answer for another request',
  },
  { title: 'a frame that is not masked ends with 1002', reason: 'takes every frame for masked and waits for more' },
  ...[
    'a fragmented ping ends with 1002',
    'a ping of 126 bytes ends with 1002',
    'a continuation of nothing ends with 1002',
    'a message inside a message ends with 1002',
    'a close frame of 126 bytes ends with 1002',
    'a length above the limit ends with 1009',
    'a length above 2^53 ends with 1009',
    'reserved bits end with 1002',
    'reserved opcodes end with 1002',
    'text that is not UTF-8 ends with 1007',
  ].map((title) => ({ title, reason: 'ends the connection without a close frame' })),
  ...[
    'a close frame with half a code ends with 1002',
    'a reason that is not UTF-8 ends with 1007',
    'close codes that nobody may send end with 1002',
  ].map((title) => ({ title, reason: 'answers a close frame that it does not understand with an empty one' })),
  { title: 'close codes that an endpoint may send come back', reason: 'does not know the codes from 3000 to 3999' },
];

const loaded = loadUws();
// CI sets this where it has brought everything the library needs: there a skip would hide a failure.
if (loaded.uws === null && process.env['UWS_REQUIRED'] === '1')
  throw new Error(`uWebSockets.js does not load: ${loaded.reason}`);
if (loaded.uws === null) {
  test('uws listener', { skip: loaded.reason }, () => {});
} else {
  const { uws } = loaded;
  test('uWebSockets.js loads', () => assert.equal(typeof uws.App, 'function'));
  listenerSuite({ open: openUwsListener(uws), technology: 'uws', skip });
}
