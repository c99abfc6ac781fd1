// Values as `console` shows them: those of the platform's own classes, whose content is behind getters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { format } from '#runtime/engine/guest/lazy/inspect.ts';

const show = (value: unknown): string => format([value]);

test('a URL, a request and a response show what they are', () => {
  assert.match(show(new URL('http://shop.test/a?b#c')), /^URL \{\n {2}href: 'http:\/\/shop\.test\/a\?b#c',\n/);
  assert.equal(
    show(new Request('http://shop.test/', { method: 'PUT', headers: { 'x-a': '1' } })),
    "Request {\n  method: 'PUT',\n  url: 'http://shop.test/',\n  headers: Headers(1) { 'x-a' => '1' },\n  bodyUsed: false\n}",
  );
  assert.equal(
    show(new Response(null, { status: 404, statusText: 'Gone' })),
    "Response { status: 404, statusText: 'Gone', headers: Headers(0) {}, bodyUsed: false }",
  );
});

test('lists of pairs show their pairs', () => {
  const form = new FormData();
  form.set('a', 'b');
  assert.equal(show(form), "FormData(1) { 'a' => 'b' }");
  assert.equal(show(new URLSearchParams('a=1&a=2')), "URLSearchParams(2) { 'a' => '1', 'a' => '2' }");
  assert.equal(show(new Headers()), 'Headers(0) {}');
});

test("a class of the worker's own with such a name shows its fields", () => {
  class URL {
    readonly one = 1;
  }
  class Headers {
    readonly two = 2;
  }
  assert.equal(show([new URL(), new Headers()]), '[ URL { one: 1 }, Headers { two: 2 } ]');
});

test('of many fields, the number of the others is shown', () => {
  const many = Object.fromEntries(Array.from({ length: 103 }, (_, at) => [`k${at}`, at]));
  assert.match(show(many), /,\n {2}k99: 99,\n {2}\.\.\. 3 more\n\}$/);
});

test('fields of an error are indented alike', () => {
  const error = Object.assign(new Error('no'), { stack: 'Error: no', code: 1, more: { of: 'x'.repeat(80) } });
  assert.equal(show(error), `Error: no {\n  code: 1,\n  more: {\n    of: '${'x'.repeat(80)}'\n  }\n}`);
});
