// WebSocket cases of the listener contract: the handshake, and frames as RFC 6455 allows and forbids them (the
// substance of the Autobahn cases), byte by byte on a bare socket. The handler echoes.
import assert from 'node:assert/strict';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { ok, type Fact, type Open } from './listener-case.ts';
import type { RawClient } from './raw-client.ts';

interface FrameOptions {
  readonly fin?: boolean;
  readonly rsv?: number;
  readonly masked?: boolean;
}

const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** A frame as a client sends it. */
function frame(
  opcode: number,
  payload: string | Uint8Array = '',
  { fin = true, rsv = 0, masked = true }: FrameOptions = {},
): Buffer {
  const bytes = Buffer.from(payload as string);
  const { length } = bytes;
  const head = Buffer.alloc(2 + (length < 126 ? 0 : length < 65536 ? 2 : 8));
  head[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  head[1] = (masked ? 0x80 : 0) | (length < 126 ? length : length < 65536 ? 126 : 127);
  if (length >= 126 && length < 65536) head.writeUInt16BE(length, 2);
  else if (length >= 65536) head.writeBigUInt64BE(BigInt(length), 2);
  if (!masked) return Buffer.concat([head, bytes]);
  const mask = Buffer.from([1, 2, 3, 4]);
  return Buffer.concat([head, mask, bytes.map((byte, index) => byte ^ mask[index % 4]!)]);
}

function closeFrame(code: number, reason: string | Uint8Array = ''): Buffer {
  const payload = Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason as string)]);
  return frame(CLOSE, payload);
}

/**
 * What a server sent, as `text:...`, `binary:<bytes>`, `pong:...`, `close:<code> <reason>`; and the rest that is no
 * whole frame.
 */
function parse(latin1: string): string[] {
  const bytes = Buffer.from(latin1, 'latin1');
  const found: string[] = [];
  let at = 0;
  while (at + 2 <= bytes.length) {
    assert.equal(bytes[at]! & 0xf0, 0x80, 'a server of this suite sends whole frames, not compressed');
    assert.equal(bytes[at + 1]! & 0x80, 0, 'a server masks nothing');
    let length = bytes[at + 1]! & 0x7f;
    let from = at + 2;
    if (length === 126) {
      if (bytes.length < from + 2) break;
      length = bytes.readUInt16BE(from);
      from += 2;
    } else if (length === 127) {
      if (bytes.length < from + 8) break;
      length = Number(bytes.readBigUInt64BE(from));
      from += 8;
    }
    if (bytes.length < from + length) break;
    const payload = bytes.subarray(from, from + length);
    const opcode = bytes[at]! & 0x0f;
    if (opcode === TEXT) found.push(`text:${payload.toString()}`);
    else if (opcode === BINARY) found.push(`binary:${payload.length}`);
    else if (opcode === PONG) found.push(`pong:${payload.toString()}`);
    else if (opcode === CLOSE)
      found.push(
        length === 0
          ? 'close'
          : `close:${payload.readUInt16BE(0)}${length > 2 ? ` ${payload.subarray(2).toString()}` : ''}`,
      );
    else if (opcode !== PING) found.push(`opcode ${opcode}`);
    at = from + length;
  }
  return found;
}

const handshake =
  'GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';

/** Answers every handshake, and echoes. */
function echo(exchange: Exchange): void {
  const wire = exchange.upgrade('x-own\0yes\0sec-websocket-protocol\0two\0', {
    message: (data) => wire?.send(data),
    failed() {},
    closed() {},
  });
  if (wire === null) ok(exchange);
}

type OpenListener = Parameters<Parameters<Fact>[1]>[0];

async function upgraded(opened: Open): Promise<RawClient> {
  const raw = await opened.client();
  raw.socket.setNoDelay(true);
  raw.send(`${handshake}\r\n`);
  assert.equal((await raw.response()).status, 101);
  return raw;
}

/** All that a server says to some frames, until it has closed. */
async function talk(opened: Open, frames: readonly Uint8Array[], apart = false): Promise<string[]> {
  const raw = await upgraded(opened);
  // A client that has the close frame ends the connection.
  raw.socket.on('data', () => {
    if (parse(raw.unread).some((found) => found.startsWith('close'))) raw.socket.end();
  });
  for (const bytes of frames) {
    if (!apart) raw.send(bytes);
    else {
      for (const byte of bytes) {
        raw.send(Uint8Array.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
  await raw.closed;
  return parse(raw.unread);
}

const bye = closeFrame(1000);
const utf8 = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);

/** Title, frames of the client, what the server says. */
const talks: readonly (readonly [title: string, frames: readonly Uint8Array[], said: readonly string[]])[] = [
  [
    'text of 0, 125, 126 and 65,536 bytes comes back',
    ['', 'a'.repeat(125), 'b'.repeat(126), 'c'.repeat(65536)].map((text) => frame(TEXT, text)).concat(bye),
    ['text:', `text:${'a'.repeat(125)}`, `text:${'b'.repeat(126)}`, `text:${'c'.repeat(65536)}`, 'close:1000'],
  ],
  [
    'binary messages of 0, 127 and 65,535 bytes come back',
    [0, 127, 65535].map((length) => frame(BINARY, Buffer.alloc(length, 0xfe))).concat(bye),
    ['binary:0', 'binary:127', 'binary:65535', 'close:1000'],
  ],
  [
    'a ping is answered with its payload, an unsolicited pong with nothing',
    [frame(PING, 'p'.repeat(125)), frame(PONG, 'x'), frame(PING), bye],
    [`pong:${'p'.repeat(125)}`, 'pong:', 'close:1000'],
  ],
  [
    'control frames may come between fragments',
    [
      frame(TEXT, 'a', { fin: false }),
      frame(PING, '1'),
      frame(0, 'b', { fin: false }),
      frame(PONG),
      frame(0, 'c'),
      bye,
    ],
    ['pong:1', 'text:abc', 'close:1000'],
  ],
  [
    'empty fragments are fragments',
    [frame(TEXT, '', { fin: false }), frame(0, '', { fin: false }), frame(0, ''), bye],
    ['text:', 'close:1000'],
  ],
  [
    'a character may be split over fragments',
    [frame(TEXT, utf8(0xf0, 0x9f), { fin: false }), frame(0, utf8(0xa6, 0x8a)), bye],
    ['text:🦊', 'close:1000'],
  ],
  ['nothing is answered after the close frame', [bye, frame(TEXT, 'late'), frame(PING)], ['close:1000']],
  ['a close frame without a code is answered alike', [frame(CLOSE)], ['close']],
  ['a reason of 123 bytes comes back', [closeFrame(4999, 'r'.repeat(123))], [`close:4999 ${'r'.repeat(123)}`]],
  ['a frame that is not masked ends with 1002', [frame(TEXT, 'a', { masked: false })], ['close:1002']],
  ['a fragmented ping ends with 1002', [frame(PING, 'a', { fin: false })], ['close:1002']],
  ['a ping of 126 bytes ends with 1002', [frame(PING, 'p'.repeat(126))], ['close:1002']],
  ['a continuation of nothing ends with 1002', [frame(0, 'a')], ['close:1002']],
  ['a message inside a message ends with 1002', [frame(TEXT, 'a', { fin: false }), frame(TEXT, 'b')], ['close:1002']],
  ['a close frame with half a code ends with 1002', [frame(CLOSE, 'x')], ['close:1002']],
  ['a close frame of 126 bytes ends with 1002', [closeFrame(1000, 'r'.repeat(124))], ['close:1002']],
  ['a reason that is not UTF-8 ends with 1007', [closeFrame(1000, utf8(0xff))], ['close:1007']],
  [
    'a length above the limit ends with 1009',
    [Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0xff, 0, 0, 0, 1, 2, 3, 4])],
    ['close:1009'],
  ],
  [
    'a length above 2^53 ends with 1009',
    [Buffer.from([0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4])],
    ['close:1009'],
  ],
];

/** One fact each over several conversations. */
const groups: readonly (readonly [
  title: string,
  conversations: readonly (readonly [frames: readonly Uint8Array[], said: string])[],
])[] = [
  ['reserved bits end with 1002', [1, 2, 4].map((rsv) => [[frame(TEXT, 'a', { rsv })], 'close:1002'] as const)],
  [
    'reserved opcodes end with 1002',
    [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [[frame(opcode)], 'close:1002'] as const),
  ],
  [
    'close codes that an endpoint may send come back',
    [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].map(
      (code) => [[closeFrame(code)], `close:${code}`] as const,
    ),
  ],
  [
    'close codes that nobody may send end with 1002',
    [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535].map(
      (code) => [[closeFrame(code)], 'close:1002'] as const,
    ),
  ],
  [
    'text that is not UTF-8 ends with 1007',
    [
      [frame(TEXT, utf8(0xff))],
      [frame(TEXT, utf8(0xc0, 0x80))],
      [frame(TEXT, utf8(0xed, 0xa0, 0x80))],
      [frame(TEXT, utf8(0xf4, 0x90, 0x80, 0x80))],
      [frame(TEXT, utf8(0xe2, 0x82))],
      [frame(TEXT, 'ok', { fin: false }), frame(0, utf8(0x80))],
      [frame(TEXT, utf8(0xe2), { fin: false }), frame(0, 'a')],
    ].map((frames) => [frames, 'close:1007'] as const),
  ],
];

const handshakes: readonly (readonly [title: string, run: (open: OpenListener) => Promise<void>])[] = [
  [
    'of a valid handshake is 101 with its key hashed, the chosen protocol and headers of the response',
    async (open) => {
      let block = '';
      const { client } = await open((exchange) => {
        block = exchange.headerBlock;
        echo(exchange);
      });
      const raw = await client();
      raw.send(`${handshake}Sec-WebSocket-Protocol: one\r\nSec-WebSocket-Protocol: two\r\n\r\n`);
      const response = await raw.response();
      assert.equal(response.status, 101);
      assert.deepEqual(
        ['sec-websocket-accept', 'upgrade', 'connection', 'sec-websocket-protocol', 'x-own'].map((name) =>
          response.all(name),
        ),
        [['s3pPLMBiTxaQ9kYGzzhZRbK+xOo='], ['websocket'], ['Upgrade'], ['two'], ['yes']],
      );
      assert.ok(block.startsWith('host\0a\0upgrade\0websocket\0sec-websocket-key\0'));
    },
  ],
  [
    'of a protocol that the client did not offer leaves it out',
    async (open) => {
      const { client } = await open(echo);
      const raw = await client();
      raw.send(`${handshake}Sec-WebSocket-Protocol: one\r\n\r\n`);
      assert.deepEqual((await raw.response()).all('sec-websocket-protocol'), []);
    },
  ],
  [
    'may be any other response, after which the connection ends',
    async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(403, 'x-why\0no\0');
        exchange.write('not ');
        exchange.write('you');
        exchange.end();
      });
      const raw = await client();
      raw.send(`${handshake}\r\n`);
      const response = await raw.response();
      assert.deepEqual([response.status, response.body, response.all('connection')], [403, 'not you', ['close']]);
      await raw.closed;
    },
  ],
  [
    'is null for a request that is no valid handshake',
    async (open) => {
      const { client } = await open(echo);
      const invalid = [
        handshake.replace('GET', 'POST').concat('Content-Length: 0\r\n'),
        handshake.replace('Version: 13', 'Version: 8'),
        handshake.replace('dGhlIHNhbXBsZSBub25jZQ==', 'short'),
        handshake.replace('keep-alive, Upgrade', 'keep-alive'),
        handshake.replace('Upgrade: websocket', 'Upgrade: h2c'),
        handshake.concat('Sec-WebSocket-Protocol: a,,b\r\n'),
        handshake.concat('Content-Length: 1\r\n'),
      ];
      for (const head of invalid) {
        const raw = await client();
        raw.send(`${head}\r\n`);
        if (head.includes('Length: 1')) raw.send('x');
        assert.equal((await raw.response()).status, 200, head);
        raw.socket.destroy();
      }
    },
  ],
  [
    'comes in order when frames follow the handshake in one packet',
    async (open) => {
      const { client } = await open((exchange) => void setImmediate(echo, exchange));
      const raw = await client();
      raw.send(Buffer.concat([Buffer.from(`${handshake}\r\n`), frame(TEXT, 'at once'), bye]));
      assert.equal((await raw.response()).status, 101);
      raw.socket.on('data', () => raw.socket.end());
      await raw.closed;
      assert.deepEqual(parse(raw.unread), ['text:at once', 'close:1000']);
    },
  ],
  [
    'is followed by 1012 when the listener drains',
    async (open) => {
      const opened = await open(echo);
      const raw = await upgraded(opened);
      raw.socket.on('data', () => raw.socket.end());
      await opened.listener.drain(5000);
      await raw.closed;
      assert.deepEqual(parse(raw.unread), ['close:1012 Service restart']);
    },
  ],
];

export function webSocketCases(fact: Fact): void {
  for (const [title, run] of handshakes) fact(title, run);
  for (const [title, frames, said] of talks) {
    fact(title, async (open) => {
      assert.deepEqual(await talk(await open(echo), frames), said);
    });
  }
  for (const [title, conversations] of groups) {
    fact(title, async (open) => {
      const opened = await open(echo);
      for (const [frames, said] of conversations) assert.deepEqual(await talk(opened, frames), [said]);
    });
  }
  fact('frames may come byte by byte', async (open) => {
    const frames = [frame(TEXT, 'grüße', { fin: false }), frame(PING, 'p'), frame(0, '!'), bye];
    assert.deepEqual(await talk(await open(echo), frames, true), ['pong:p', 'text:grüße!', 'close:1000']);
  });
}
