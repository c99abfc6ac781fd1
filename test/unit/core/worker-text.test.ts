// A worker's code as isolates take it: one byte a character, or two.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toWorkerText } from '#core/worker-text.ts';

test('code in ASCII keeps its bytes', () => {
  const text = toWorkerText(Buffer.from('export default {}'));
  assert.deepEqual([text.isWide, text.length], [false, 17]);
  assert.equal(Buffer.from(text.bytes).toString('latin1'), 'export default {}');
});

test('other code has two bytes a character, whatever stands where its pieces end', () => {
  // Pieces end after 16,384 bytes: each character comes to lie across such an end.
  for (const character of ['\u00e9', '\u20ac', '\u{1f600}']) {
    for (let before = 16_380; before <= 16_385; before++) {
      const code = `${'a'.repeat(before)}${character}${'\u00e4'.repeat(20_000)}`;
      const text = toWorkerText(Buffer.from(code));
      assert.deepEqual([text.isWide, text.length, text.bytes.byteLength], [true, code.length, code.length * 2]);
      assert.ok(Buffer.from(text.bytes).toString('utf16le') === code, `${character} at ${before}`);
    }
  }
});

test('bytes that are no UTF-8 become replacement characters, however many there are', () => {
  const text = toWorkerText(Buffer.alloc(40_000, 0x80));
  assert.ok(Buffer.from(text.bytes).toString('utf16le') === '\ufffd'.repeat(40_000));
});
