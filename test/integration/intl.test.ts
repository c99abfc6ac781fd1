// Intl in isolates: what its objects hold outside the heap is counted, and a worker sees nothing of that.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runInThisContext } from 'node:vm';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

/** What a worker can ask of Intl; its answers have to be Node's own. */
const looks = `(() => {
  const of = (target, key) => { const { value, ...rest } = Object.getOwnPropertyDescriptor(target, key); return { type: typeof value, ...rest }; };
  const names = ['Collator', 'DateTimeFormat', 'DisplayNames', 'DurationFormat', 'ListFormat', 'Locale', 'NumberFormat', 'PluralRules', 'RelativeTimeFormat', 'Segmenter'];
  const given = { DisplayNames: ['de', { type: 'region' }], Locale: ['de-u-ca-buddhist'] };
  const seen = { global: of(globalThis, 'Intl'), tag: String(Intl), kinds: {} };
  for (const name of names) {
    const original = Intl[name];
    const parameters = given[name] ?? ['de'];
    class Own extends original { own() { return 1; } }
    const made = new original(...parameters);
    const own = new Own(...parameters);
    let without;
    try { without = original(...parameters) instanceof original; } catch (error) { without = error.name; }
    let wrong;
    try { new original('no locale!'); } catch (error) { wrong = error.name + ': ' + error.message; }
    seen.kinds[name] = {
      descriptor: of(Intl, name), keys: Reflect.ownKeys(original).map(String).filter((key) => key !== 'arguments' && key !== 'caller').sort(), name: original.name, length: original.length,
      prototype: of(original, 'prototype'), constructor: original.prototype.constructor === original && made.constructor === original,
      is: made instanceof original, own: own instanceof Own && own instanceof original && own.own(), tag: String(made),
      methods: Reflect.ownKeys(original.prototype).map(String).sort(), keysOfObject: Reflect.ownKeys(made).length, without, wrong,
      code: /\\[native code\\]/.test(Function.prototype.toString.call(original)),
    };
  }
  const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
  const segments = segmenter.segment('Hello, world');
  const prototype = Object.getPrototypeOf(segments);
  seen.words = [...segments].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment);
  seen.containing = segments.containing(8);
  seen.undefined = [...segmenter.segment()].map(({ segment }) => segment);
  seen.object = [...segmenter.segment({ toString: () => 'ab cd' })].length;
  seen.symbol = (() => { try { segmenter.segment(Symbol('x')); } catch (error) { return error.name; } })();
  seen.receiver = (() => { try { segmenter.segment.call({}, 'a'); } catch (error) { return error.name; } })();
  seen.iterates = (() => { try { prototype[Symbol.iterator].call({}); } catch (error) { return error.name; } })();
  seen.iterator = { ...of(prototype, Symbol.iterator), name: prototype[Symbol.iterator].name, length: prototype[Symbol.iterator].length };
  seen.segment = { ...of(Intl.Segmenter.prototype, 'segment'), name: segmenter.segment.name, length: segmenter.segment.length };
  seen.locale = [new Intl.Locale('zh').maximize().toString(), new Intl.Locale('zh-Hans-CN').minimize().toString(), Intl.Locale.prototype.maximize.length];
  seen.legacy = (() => { const made = Object.create(Intl.NumberFormat.prototype); const legacy = Intl.NumberFormat.call(made, 'de'); return [legacy === made, legacy.format(1234.5)]; })();
  return seen;
})()`;

let handler: TestHandler;
before(async () => {
  handler = await startHandler({
    looks: `export default { fetch: () => Response.json(${looks}) };`,
    patched: `const { defineProperty, ownKeys } = Reflect; const iterator = Array.prototype[Symbol.iterator]; const kept = [];
      const seen = () => { throw new Error('seen'); };
      export default { fetch() {
        Object.prototype.get = Array.prototype[Symbol.iterator] = Reflect.defineProperty = Reflect.ownKeys = seen;
        const { Segmenter } = Intl;
        Object.assign(Reflect, { defineProperty, ownKeys });
        Array.prototype[Symbol.iterator] = iterator;
        delete Object.prototype.get;
        const segmenter = new Segmenter('en');
        const text = 'x'.repeat(1_000_000);
        try { for (let n = 0; n < 200; n++) kept.push(segmenter.segment(text)); } catch (error) { return new Response(error.name + ': ' + error.message); }
        return new Response('kept ' + kept.length);
      } };`,
    dropped: `export default { fetch() {
        const segmenter = new Intl.Segmenter('en'); const text = 'x'.repeat(100_000);
        let characters = 0;
        for (let n = 0; n < 2000; n++) characters += segmenter.segment(text).containing(5).segment.length;
        for (let n = 0; n < 2000; n++) new Intl.NumberFormat('de');
        return new Response(String(characters));
      } };`,
  });
});
after(() => handler.close());

test('a worker sees of Intl what Node shows', async () => {
  assert.deepEqual((await handler.fetch('looks')).json(), JSON.parse(JSON.stringify(runInThisContext(looks))));
});

test('texts that are kept as segments are counted, with built-ins that the worker has patched', async () => {
  assert.equal((await handler.fetch('patched')).text, 'RangeError: There is no memory left for an object of Intl');
});

test('what is dropped is not counted any more', async () => {
  assert.equal((await handler.fetch('dropped')).text, '2000');
});
