// Loaded into an engine before its own code (`--import`): counts how often isolates are entered and tells the bench
// when it asks over the process channel. The engine itself stays as it is.
import { WorkerIsolate } from '../runtime/engine/isolates/isolate.ts';

let entries = 0;
const { enter } = WorkerIsolate.prototype;
WorkerIsolate.prototype.enter = function (this: WorkerIsolate): void {
  entries++;
  enter.call(this);
};
process.on('message', (message) => {
  if (message === 'entries') process.send?.({ entries });
});
// An engine without a supervisor does not see that whoever started it is gone.
process.on('disconnect', () => process.exit(0));
