// Objects of Intl, of each kind, with what makes them large: they lie outside the heap, and V8 counts none of them.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const kinds = {
  Collator: `new Intl.Collator('zh-u-co-stroke', { numeric: true })`,
  DateTimeFormat: `new Intl.DateTimeFormat('ar-u-ca-islamic-umalqura', { dateStyle: 'full', timeStyle: 'full' })`,
  DisplayNames: `new Intl.DisplayNames('zh', { type: 'region' })`,
  DurationFormat: `new Intl.DurationFormat('ar', { style: 'long' })`,
  ListFormat: `new Intl.ListFormat('de')`,
  Locale: `new Intl.Locale('zh-u-ca-buddhist-nu-thai').maximize()`,
  NumberFormat: `new Intl.NumberFormat('de', { style: 'unit', unit: 'kilometer-per-hour', notation: 'compact' })`,
  PluralRules: `new Intl.PluralRules('ar', { type: 'ordinal' })`,
  RelativeTimeFormat: `new Intl.RelativeTimeFormat('ar', { numeric: 'auto' })`,
  Segmenter: `new Intl.Segmenter('th', { granularity: 'word' })`,
};

export default {
  kind: 'memory',
  worker: attacker(
    `const make = kinds[url.searchParams.get('kind')];
    const until = performance.now() + 800;
    try { while (performance.now() < until) kept.push(make()); } catch (error) { if (!(error instanceof RangeError)) throw error; }
    return new Response('kept');`,
    `const kept = []; const kinds = { ${Object.entries(kinds)
      .map(([name, made]) => `${name}: () => ${made}`)
      .join()} };`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000' },
  growthMbMax: 200,
  attack: async ({ get }) => {
    const answers = new Set<string>();
    for (let left = 2; left > 0; left--)
      for (const kind of Object.keys(kinds)) answers.add(await get(`/attack?kind=${kind}`));
    return [...answers].join(', ');
  },
  expect: { must: ['500 memory_limit_exceeded'], may: ['200 kept'] },
} satisfies Attack;
