// What an isolate of 128 MB reaches by each way to hold memory, and what its engine still holds a second after the
// isolate's end: `npm run bench held-memory`; HELD="segmented texts;locales" picks some. Some five minutes. Linux only.
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
