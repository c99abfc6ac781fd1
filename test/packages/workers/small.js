// Libraries of one function or so, each checked by what it returns.
import { addMonths, differenceInCalendarDays, format, formatDistance, parseISO } from 'date-fns';
import { de } from 'date-fns/locale';
import { decompressSync, gunzipSync, gzipSync, strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { marked } from 'marked';
import Mustache from 'mustache';
import { customAlphabet, nanoid } from 'nanoid';
import Papa from 'papaparse';
import QRCode from 'qrcode';
import { context, createContextKey, propagation, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';

const checks = {
  'date-fns': () => [
    format(addMonths(parseISO('2026-01-31T00:00:00Z'), 1), 'yyyy-MM-dd'),
    differenceInCalendarDays(new Date(2026, 5, 1), new Date(2026, 4, 1)),
    formatDistance(0, 3_600_000 * 50, { locale: de }),
  ],
  fflate: () => {
    const bytes = strToU8('hello '.repeat(100));
    const zip = zipSync({ 'a.txt': bytes, folder: { 'b.txt': strToU8('b') } });
    return [
      strFromU8(gunzipSync(gzipSync(bytes))).length,
      Object.keys(unzipSync(zip)),
      strFromU8(decompressSync(gzipSync(strToU8('x')))),
    ];
  },
  marked: async () => marked.parse('# Title\n\n- a\n- **b**\n\n```js\nx\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |'),
  mustache: () =>
    Mustache.render('{{#people}}<b>{{name}}</b>{{^age}}?{{/age}} {{/people}}{{{raw}}}', {
      people: [{ name: 'A&B' }, { name: 'C', age: 3 }],
      raw: '<i>',
    }),
  nanoid: () => [
    nanoid().length,
    /^[a-f]{10}$/.test(customAlphabet('abcdef', 10)()),
    new Set(Array.from({ length: 1000 }, () => nanoid())).size,
  ],
  papaparse: () => [
    Papa.parse('a,b\n1,"x, ""y"""\n', { header: true, skipEmptyLines: true, dynamicTyping: true }).data,
    Papa.unparse([{ a: 1, b: 'x,y' }]),
  ],
  qrcode: async () => [
    (await QRCode.toString('hello', { type: 'svg' })).slice(0, 40),
    QRCode.create('hello').modules.size,
    (await QRCode.toString('x', { type: 'utf8' })).length > 0,
  ],
  opentelemetry: () => {
    const key = createContextKey('key');
    const tracer = trace.getTracer('test');
    return tracer.startActiveSpan('span', (span) => {
      span.setAttribute('a', 1).setStatus({ code: SpanStatusCode.OK }).end();
      return [
        span.isRecording(),
        context.with(ROOT_CONTEXT.setValue(key, 1), () => ROOT_CONTEXT.setValue(key, 2).getValue(key)),
        propagation.fields(),
      ];
    });
  },
};

export default {
  async fetch() {
    const results = {};
    for (const [name, check] of Object.entries(checks)) {
      try {
        results[name] = await check();
      } catch (error) {
        results[name] = String(error?.stack ?? error);
      }
    }
    return Response.json(results);
  },
};
