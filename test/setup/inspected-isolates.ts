// isolated-vm with an inspector in every isolate, so that a test can read heaps; isolates of the engine have none.
// Import it before the engine: its modules then get this one instead of isolated-vm.
import { createRequire, registerHooks } from 'node:module';
import type ivm from 'isolated-vm';

const real = createRequire(import.meta.url)('isolated-vm') as typeof ivm;

/** All isolates that were made. */
export const isolates: ivm.Isolate[] = [];

function InspectedIsolate(options: ivm.IsolateOptions): ivm.Isolate {
  const isolate = new real.Isolate({ ...options, inspector: true });
  isolates.push(isolate);
  return isolate;
}

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'isolated-vm' && context.parentURL?.includes('/runtime/engine/') === true
      ? { url: import.meta.url, shortCircuit: true }
      : next(specifier, context),
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

export default Object.create(real, { Isolate: { value: InspectedIsolate } }) as typeof ivm;
