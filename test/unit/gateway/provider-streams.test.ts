// The readers of Anthropic's and Google's streams: any split of the bytes reads the same, and whatever stands in the
// events is read or refused, without any other failure. FUZZ_SEED repeats a run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '#core/failure.ts';
import { anthropicWire } from '#gateway/providers/anthropic.ts';
import { googleWire } from '#gateway/providers/google.ts';
import type { StreamPiece, Wire } from '#gateway/contract/wire.ts';
import { SseReader } from '#gateway/streams/sse-reader.ts';
import { openAnthropicProvider } from '#test/setup/anthropic-provider.ts';
import { providerAt } from '#test/setup/gateway.ts';
import { openGoogleProvider } from '#test/setup/google-provider.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const ROUNDS = 400;
const tools = ['weather', 'time'].map((name) => ({ type: 'function', function: { name } }));
const request = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  tools,
  stream: true,
  reasoning_effort: 'low',
};
/** What a broken or hostile provider may put where something else belongs. */
const oddities = [
  null,
  true,
  -1,
  1e300,
  '',
  'x',
  '__proto__',
  [],
  {},
  [null],
  { type: null },
  [{ parts: 5 }],
  { error: 7 },
];

for (const [title, wire, model, open] of [
  ['anthropic', anthropicWire, 'claude', openAnthropicProvider],
  ['google', googleWire, 'gemini-3', openGoogleProvider],
] as const) {
  test(`${title}: a stream reads the same however it is split, and broken ones are read or refused`, async () => {
    const provider = await open();
    const target = { provider: providerAt(provider.url, { kind: title }), model };
    const { path, headers, body } = wire.chatRequest(target, request, { isBounded: false, tokensDefault: 10 });
    const response = await fetch(`${provider.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    await provider.close();
    const random = createSeededRandom();
    const told = `FUZZ_SEED=${random.seed}`;
    const whole = piecesOf(wire, [Buffer.from(text)]);
    assert.ok(whole.length > 3 && whole.some(({ kind }) => kind === 'usage'));
    for (let round = 0; round < ROUNDS; round += 1) {
      const split = piecesOf(wire, splitOf(Buffer.from(text), random.below));
      assert.deepEqual(split.map(withoutTime), whole.map(withoutTime), told);
    }
    const events = text.split(/(?<=\n\r?\n)/);
    for (let round = 0; round < ROUNDS * 5; round += 1) {
      const broken = events
        .flatMap((event) => {
          const luck = random.below(12);
          if (luck === 0) return [];
          if (luck === 1) return [event, event];
          if (luck === 2) return [event.slice(0, random.below(event.length))];
          return [luck < 5 ? withOddity(event, random) : event];
        })
        .join('');
      try {
        for (const piece of piecesOf(wire, [Buffer.from(broken)])) JSON.stringify(piece);
      } catch (error) {
        const isRefusal = isFailure(error, 'unreadable_answer') || error instanceof SyntaxError;
        assert.ok(isRefusal, `${told}: ${String((error as Error).stack)}\n${broken}`);
      }
    }
  });
}

function piecesOf(wire: Wire, chunks: readonly Uint8Array[]): StreamPiece[] {
  const events = new SseReader(1_000_000);
  const read = wire.openStream();
  const pieces = chunks.flatMap((chunk) => events.push(chunk).flatMap((event) => read(event)));
  const last = events.end();
  return last === null ? pieces : [...pieces, ...read(last)];
}

function splitOf(bytes: Uint8Array, below: (bound: number) => number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = 1 + below(40);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

/** Without the moment that a stream was opened at. */
function withoutTime(piece: StreamPiece): unknown {
  if (piece.kind !== 'chunk') return piece;
  const { created, ...chunk } = piece.chunk;
  assert.equal(typeof created, 'number');
  return chunk;
}

/** One value of an event, at any depth, replaced. */
function withOddity(event: string, random: ReturnType<typeof createSeededRandom>): string {
  const at = event.indexOf('data: ') + 'data: '.length;
  const end = event.trimEnd().length;
  let places = 0;
  JSON.parse(event.slice(at, end), (key, value: unknown) => (void places++, value));
  let left = random.below(places);
  const value = JSON.parse(event.slice(at, end), (key, given: unknown) =>
    left-- === 0 ? random.pick(oddities) : given,
  ) as unknown;
  return event.slice(0, at) + JSON.stringify(value) + event.slice(end);
}
