// Text as editors of any system save it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeText } from '#core/text-file.ts';

const text = 'name: größe\r\n# 😀\r\n';
const bigEndian = Buffer.from(`\ufeff${text}`, 'utf16le').swap16();

for (const [encoding, bytes] of [
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`)],
  ['UTF-16, little endian', Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['UTF-16, big endian', bigEndian],
] as const) {
  test(`${encoding} is read, without its mark`, () => {
    assert.equal(decodeText(bytes, 'platform.yaml'), text);
  });
}

test('a file in another encoding is refused by its name', () => {
  assert.throws(() => decodeText(Buffer.from(text, 'latin1'), '.env'), {
    kind: 'text_encoding',
    message: '.env is text neither in UTF-8 nor in UTF-16 with a byte order mark: save it as UTF-8',
  });
});
