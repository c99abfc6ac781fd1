// Attacks as tests, and a table of them at their end: what was tried, and what those beside it felt of it.
import { after, it } from 'node:test';

/**
 * To be called in a `describe`.
 *
 * @returns makes a test of an attack, which gives what is to stand beside it.
 */
export function attackTable(title: string): (attack: string, act: () => Promise<string>) => void {
  const rows: [attack: string, felt: string][] = [];
  after(() => {
    const [first, second] = [0, 1].map((at) => Math.max(...rows.map((row) => row[at]!.length), 7)) as [number, number];
    const line = (one: string, other: string): string => `| ${one.padEnd(first)} | ${other.padEnd(second)} |`;
    const lines = [line('attack', 'after it'), line('-'.repeat(first), '-'.repeat(second))];
    process.stdout.write(`\n${title}\n\n${[...lines, ...rows.map((row) => line(...row))].join('\n')}\n\n`);
  });
  return (attack, act) =>
    void it(attack, async () => {
      try {
        rows.push([attack, await act()]);
      } catch (error) {
        rows.push([attack, 'NOT CONTAINED']);
        throw error;
      }
    });
}
