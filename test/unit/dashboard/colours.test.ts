// Colours of terminals in lines of a build log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coloursOf } from '#dashboard/src/pages/deployments/colours.ts';
import { lineParts } from '#dashboard/src/pages/deployments/log-lines.ts';

const ESC = '\u001b';

test('a line without colours is its text', () => {
  assert.deepEqual(coloursOf('src/a.ts <b>'), { text: 'src/a.ts <b>', colours: [] });
});

test('colours and weights hold until they are taken back', () => {
  assert.deepEqual(coloursOf(`${ESC}[1;31merror${ESC}[22m: ${ESC}[39mno${ESC}[0m!`), {
    text: 'error: no!',
    colours: [
      { from: 0, to: 5, looks: ['fg1', 'bold'] },
      { from: 5, to: 7, looks: ['fg1'] },
    ],
  });
});

test('colours of 256 and of red, green and blue become one of the sixteen', () => {
  const looks = (codes: string) => coloursOf(`${ESC}[${codes}mx`).colours[0]?.looks;
  assert.deepEqual(looks('38;5;196'), ['fg1']);
  assert.deepEqual(looks('38;5;244'), ['fg7']);
  assert.deepEqual(looks('38;2;80;250;123'), ['fg2']);
  assert.deepEqual(looks('48;2;255;0;255'), ['bg5']);
  assert.deepEqual(looks('38;2;255;85;85;1'), ['fg1', 'bold']);
  assert.deepEqual(looks('97;44'), ['fg15', 'bg4']);
});

test('what is no colour is dropped, and parts of a line are bounded', () => {
  assert.deepEqual(coloursOf(`a${ESC}]0;b\u0007\u0000${ESC}[999mc`), { text: 'a]0;bc', colours: [] });
  assert.equal(coloursOf(`${ESC}[31mx${ESC}[32my`.repeat(10_000)).colours.length, 500);
});

test('a file is one link, also where it has several colours', () => {
  const { text, colours } = coloursOf(`at ${ESC}[36msrc/a.ts${ESC}[33m:3:1${ESC}[0m here`);
  assert.deepEqual(lineParts({ text, colours }), [
    { text: 'at ', looks: [] },
    { text: 'src/a.ts', file: 'src/a.ts', line: 3, looks: ['fg6'] },
    { text: ':3:1', file: 'src/a.ts', line: 3, looks: ['fg3'] },
    { text: ' here', looks: [] },
  ]);
});
