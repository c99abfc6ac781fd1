// What was acknowledged is there after engines, Postgres, the broker and the database service were killed under load:
// `npm test -- durability` asks for twenty rounds (DURABILITY_ROUNDS).
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { kinds, runDurability, type Account } from '#test/setup/durability.ts';

const rounds = Number(process.env['DURABILITY_ROUNDS'] ?? 2);
/** From four rounds on two platforms share them, each with its own folder: one waits half of its time. */
const platforms = rounds < 4 ? [rounds] : [Math.ceil(rounds / 2), Math.floor(rounds / 2)];

void suite('kill -9', { concurrency: platforms.length }, () => {
  for (const [index, mine] of platforms.entries())
    test(
      `nothing that was acknowledged is lost in ${mine} rounds of kill -9 under load, platform ${index + 1} of ${platforms.length}`,
      { timeout: 120_000 + rounds * 30_000 },
      async (t) => {
        const { kills, accounts, failedRuns, dead, corrupt } = await runDurability(mine, (line) => t.diagnostic(line));
        t.diagnostic(
          `killed: ${Object.entries(kills)
            .map(([what, times]) => `${what} ${times}`)
            .join(', ')}`,
        );
        const row = (kind: string, { acknowledged, unknown, lost, came, again, strange }: Account): string =>
          `${kind.padEnd(9)} acknowledged ${acknowledged}, unknown ${unknown}, came ${came}, again ${again}, lost ${lost.length}, strange ${strange.length}`;
        for (const kind of kinds) t.diagnostic(row(kind, accounts[kind]));
        for (const kind of kinds) {
          assert.deepEqual(accounts[kind].lost, [], `${kind}: acknowledged, and not there`);
          assert.deepEqual(accounts[kind].strange, [], `${kind}: there, and nobody asked for it`);
          assert.ok(accounts[kind].acknowledged > 0, kind);
        }
        assert.deepEqual(failedRuns, []);
        assert.equal(dead, 0);
        assert.deepEqual(corrupt, []);
        // A statement is done once or not at all.
        assert.equal(accounts.db.again, 0);
      },
    );
});
