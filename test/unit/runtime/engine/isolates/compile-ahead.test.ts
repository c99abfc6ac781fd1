import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { toWorkerText } from '#core/worker-text.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { HostRecords } from '#runtime/engine/bridge/host-records.ts';
import { RecordReader, toGuest, toHost } from '#runtime/engine/bridge/protocol.ts';
import { CompileAhead, type AheadWorker } from '#runtime/engine/isolates/compile-ahead.ts';
import { CompiledForms } from '#runtime/engine/isolates/compiled-forms.ts';
import { EntryScheduler } from '#runtime/engine/isolates/entry.ts';
import { WorkerIsolate } from '#runtime/engine/isolates/isolate.ts';
import { LostThreads } from '#runtime/engine/isolates/lost-threads.ts';
import { loadNative } from '#runtime/engine/isolates/native.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { loadSnapshot } from '#runtime/engine/isolates/snapshot.ts';

const folder = mkdtempSync(join(tmpdir(), 'platform-ahead-'));
after(() => rmSync(folder, { recursive: true }));
const snapshot = await loadSnapshot(cacheFolder(process.env));
const native = loadNative();
const functions = Array.from({ length: 500 }, (_, at) => `function f${at}(a, b) { return a * ${at} + b; }`).join('\n');
/** V8's form of a function has some hundred bytes, of one that is not compiled a few. */
const ALL_FUNCTIONS_BYTES = 500 * 100;
const good = `${functions}\nexport default { fetch() { return new Response('ok'); } };`;
const worker = (project: string, code: string): AheadWorker => ({
  owner: `${project}/d1`,
  hash: project,
  bytes: code.length,
  text: () => toWorkerText(Buffer.from(code)),
});

function open(): { forms: CompiledForms; ahead: CompileAhead } {
  const forms = new CompiledForms({ folder, key: snapshot.key, limits: defaultLimits, quietMs: 0 });
  return { forms, ahead: new CompileAhead({ snapshot, native, forms, memoryLimitMb: 64 }) };
}

/** Resolves when there are so many files of forms. */
async function filesWritten(count: number): Promise<void> {
  const files = join(folder, 'compiled');
  if (!existsSync(files)) throw new Error('no folder');
  const watcher = watch(files);
  while (readdirSync(files).filter((name) => !name.includes('.')).length < count) await once(watcher, 'change');
  watcher.close();
}

/** Starts a worker; true when V8 took the form it was given. */
async function startsFromForm(forms: CompiledForms, project: string, code: string): Promise<boolean> {
  const isolate = new WorkerIsolate({
    snapshot,
    native,
    scheduler: new EntryScheduler({ runningMax: 1, defer: setImmediate }),
    counters: { isolatesStarted: 0, isolatesEvicted: 0, entered: () => {} },
    // It keeps its form for this test.
    compiledForms: { find: forms.find.bind(forms), offer() {} } as unknown as CompiledForms,
    limits: defaultLimits,
    lostThreads: new LostThreads(Infinity),
  });
  const batch = new HostRecords(new EngineMemory(defaultLimits).open('p/d'));
  batch.record(toGuest.start);
  const state = await new Promise<string>((resolve, reject) => {
    const unexpected = (): never => assert.fail('nothing else is said');
    const text = toWorkerText(Buffer.from(code));
    const owner = `${project}/d1`;
    isolate.load({ text, hash: project, vars: {}, bindings: {}, cpuLimitMs: 0, owner, organization: null }, batch, {
      left(meta, text, _shareMs, _cpuMs, bytes) {
        const inbox = new RecordReader(meta, text, bytes);
        assert.equal(inbox.next(), toHost.started);
        resolve(inbox.field());
      },
      sync: unexpected,
      waiting: unexpected,
      died: reject,
      burnt: unexpected,
    });
    isolate.request();
  });
  assert.equal(state, 'ready');
  // None of its functions has run: only an isolate that took a form has them.
  const compiled = await isolate.compiledForm();
  isolate.dispose();
  return compiled!.byteLength > ALL_FUNCTIONS_BYTES;
}

test('a worker is compiled before anybody asks for it, and V8 takes what came of it', async () => {
  const { forms, ahead } = open();
  assert.equal(await startsFromForm(forms, 'shop', good), false);
  ahead.add(() => worker('shop', good));
  await filesWritten(1);
  assert.equal(await startsFromForm(forms, 'shop', good), true);
  ahead.close();
  await forms.close();
});

test('what has a form, is short, cannot be read or does not compile is passed over, and the next one is compiled', async () => {
  const { forms, ahead } = open();
  let reads = 0;
  const counted = (project: string, code: string, bytes = code.length): AheadWorker => ({
    ...worker(project, code),
    bytes,
    text: () => {
      reads++;
      return toWorkerText(Buffer.from(code));
    },
  });
  ahead.add(() => counted('shop', good));
  ahead.add(() => counted('short', 'export default {}'));
  ahead.add(() => counted('huge', good, 100 * 1024 * 1024));
  ahead.add(() => null);
  ahead.add(() => {
    throw new Error('gone');
  });
  ahead.add(() => worker('broken', `${functions}\nexport default {`));
  // Its top level would not end: nothing of it runs.
  const endless = `${good}\nfor (;;);`;
  ahead.add(() => worker('endless', endless));
  await filesWritten(2);
  assert.equal(forms.has('endless/d1', 'endless', endless.length), true);
  assert.equal(forms.has('broken/d1', 'broken', 10_000), false);
  assert.equal(reads, 0);
  ahead.close();
  await forms.close();
});
