import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Blob as GuestBlob, File as GuestFile } from '#runtime/engine/guest/web/blob.ts';
import { FormData as GuestForm } from '#runtime/engine/guest/lazy/form-data.ts';
import { Response as GuestResponse } from '#runtime/engine/guest/web/response.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

connectGuestHost();

type Entry = [string, string] | [string, string, string, string];

async function entriesOf(form: Iterable<[string, unknown]>): Promise<Entry[]> {
  const list: Entry[] = [];
  for (const [name, value] of form) {
    if (typeof value === 'string') list.push([name, value]);
    else list.push([name, (value as File).name, (value as File).type, await (value as File).text()]);
  }
  return list;
}

const pieces = ['a', 'name', ' ', '"', '\r\n', '\n', '\r', '\u00e9', '\u{1f4a9}', '%', '%22', ';', '=', '--', '\\', ''];

test('exchanges random forms with Node in both directions', async () => {
  const random = createSeededRandom();
  for (let round = 0; round < fuzzRounds(20); round++) {
    const ours = new GuestForm();
    const theirs = new FormData();
    for (let index = random.below(5); index > 0; index--) {
      const name = random.text(pieces, 4);
      const value = random.text(pieces, 6);
      if (random.below(2) === 0) {
        ours.append(name, value);
        theirs.append(name, value);
      } else {
        const type = random.pick(['', 'text/plain', 'application/json']);
        const filename = random.text(pieces, 3);
        ours.append(name, new GuestBlob([value], { type }), filename);
        theirs.append(name, new Blob([value], { type }), filename);
      }
    }
    const note = `seed ${random.seed}, round ${round}`;
    const sent = new GuestResponse(ours);
    const theirReading = await new Response(await sent.clone().bytes(), { headers: [...sent.headers] }).formData();
    const reading = await entriesOf(await sent.formData());
    assert.deepEqual(reading, await entriesOf(theirReading as never), note);
    const received = new Response(theirs);
    const ourReading = await new GuestResponse(await received.clone().arrayBuffer(), {
      headers: [...received.headers],
    }).formData();
    assert.deepEqual(await entriesOf(ourReading), await entriesOf((await received.formData()) as never), note);
  }
});

test('sends a form without files as one string', async () => {
  const form = new GuestForm();
  form.append('a', 'b\nc');
  const response = new GuestResponse(form);
  const type = response.headers.get('content-type')!;
  const boundary = type.split('boundary=')[1]!;
  assert.equal(
    await response.text(),
    `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\nc\r\n--${boundary}--\r\n`,
  );
});

test('reads urlencoded forms', async () => {
  const response = new GuestResponse('a=1&b=two+words&a=%C3%A9', {
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=x' },
  });
  assert.deepEqual(
    [...(await response.formData())],
    [
      ['a', '1'],
      ['b', 'two words'],
      ['a', '\u00e9'],
    ],
  );
});

test('refuses bodies that are no well-formed forms', async () => {
  const read = (body: string, type: string) =>
    new GuestResponse(body, { headers: { 'content-type': type } }).formData();
  await assert.rejects(read('a=1', 'text/plain'), { name: 'TypeError' });
  await assert.rejects(read('', 'multipart/form-data'), { name: 'TypeError' });
  for (const body of [
    '',
    '--x',
    '--x\r\n',
    '--x\r\n\r\n',
    '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nno end',
    '--x\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x--',
    '--x\r\nno colon\r\n\r\nv\r\n--x--',
  ]) {
    await assert.rejects(read(body, 'multipart/form-data; boundary=x'), { name: 'TypeError' }, JSON.stringify(body));
  }
  assert.equal([...(await read('--x--\r\n', 'multipart/form-data; boundary="x"'))].length, 0);
});

test('replaces, removes and lists entries', () => {
  const form = new GuestForm();
  form.append('a', 1);
  form.append('b', 'x');
  form.append('a', '2');
  form.set('a', 'only');
  assert.deepEqual(
    [...form],
    [
      ['a', 'only'],
      ['b', 'x'],
    ],
  );
  form.delete('b');
  assert.deepEqual([form.has('b'), form.get('b'), form.getAll('a')], [false, null, ['only']]);
  const file = new GuestFile(['x'], 'f.txt');
  form.append('f', file);
  assert.equal(form.get('f'), file);
  form.append('g', file, 'renamed.txt');
  assert.equal((form.get('g') as GuestFile).name, 'renamed.txt');
  assert.throws(() => form.append('h', 'text', 'name'), { name: 'TypeError' });
});

test('slices blobs by the rules and keeps their bytes apart', async () => {
  const bytes = new Uint8Array([97, 98, 99, 100]);
  const blob = new GuestBlob([bytes, 'ef\r\n', new GuestBlob(['g'])], { type: 'Text/X', endings: 'native' });
  bytes[0] = 0;
  assert.equal(await blob.text(), 'abcdef\ng');
  assert.equal(blob.type, 'text/x');
  for (const [start, end] of [
    [1, 3],
    [-3, undefined],
    [2, -2],
    [5, 1],
    [0, 99],
    [-99, 2],
    [Number.NaN, 1.5],
  ] as const) {
    assert.equal(
      await blob.slice(start, end).text(),
      await new Blob(['abcdef\ng']).slice(start, end).text(),
      `${start} ${end}`,
    );
  }
  assert.throws(() => new GuestBlob('text'), { name: 'TypeError' });
});
