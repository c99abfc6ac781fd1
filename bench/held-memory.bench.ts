// `npm run bench held-memory`: how much memory an isolate of 128 MB gets by each way to allocate it, and how much its
// engine still uses a second after the isolate ended. HELD="segmented texts;locales" selects ways. Takes five minutes.
// Linux only.
import {
  HELD_GROWTH_MB_MAX,
  HELD_LEFT_MB_MAX,
  measureHeldMemory,
  waysToHoldMemory,
} from '../test/setup/ways-to-hold-memory.ts';
import { formatTable } from './statistics.ts';

const names = process.env['HELD']?.split(';') ?? Object.keys(waysToHoldMemory);
const rows: (string | number)[][] = [];
for await (const { way, answers, mostMb, leftMb } of measureHeldMemory(names)) {
  const isOver = mostMb > HELD_GROWTH_MB_MAX || leftMb > HELD_LEFT_MB_MAX;
  rows.push([way, answers, mostMb, leftMb, isOver ? 'too much' : '']);
}
process.stdout.write(
  `${formatTable(['kept', 'requests ended as', 'most MB', 'MB a second after its end', ''], rows)}\n`,
);
