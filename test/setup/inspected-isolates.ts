// An inspector in every isolate of the engine, so that a test can read heaps; without this they have none. Import it
// before the engine: it changes the module that makes isolates while that is loaded.
import { registerHooks } from 'node:module';
import type ivm from 'isolated-vm';

/** All isolates that were made. */
export const isolates: ivm.Isolate[] = [];

const MAKER = '/runtime/engine/isolates/snapshot-contexts.ts';
const changes = [
  ['new lib.Isolate({ memoryLimit,', 'new lib.Isolate({ inspector: true, memoryLimit,'],
  ['return { isolate, context,', 'inspected.push(isolate); return { isolate, context,'],
] as const;

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith(MAKER)) return loaded;
    let source = `import { isolates as inspected } from '${import.meta.url}';\n${Buffer.from(loaded.source as Uint8Array).toString('utf8')}`;
    for (const [text, other] of changes) {
      if (!source.includes(text)) throw new Error(`${MAKER} has no ${text}`);
      source = source.replace(text, other);
    }
    return { ...loaded, source };
  },
});

/** The heap of an isolate, as the inspector writes it: one JSON with all strings. */
export async function heapOf(isolate: ivm.Isolate): Promise<string> {
  const session = isolate.createInspectorSession();
  const chunks: string[] = [];
  await new Promise<void>((resolve) => {
    session.onResponse = () => resolve();
    session.onNotification = (text) => {
      const { method, params } = JSON.parse(text) as { method: string; params: { chunk?: string } };
      if (method === 'HeapProfiler.addHeapSnapshotChunk') chunks.push(params.chunk!);
    };
    session.dispatchProtocolMessage(JSON.stringify({ id: 1, method: 'HeapProfiler.takeHeapSnapshot' }));
  });
  session.dispose();
  return chunks.join('');
}
