// What every backend that knows of an AI gateway has to do: commands in its sandboxes reach the real gateway with a
// token in a file, which the service replaces while they run and ends when they do not. sandbox-ai-local.test.ts,
// test/machines and test/sandbox run it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { createAiAccess } from '#sandbox/service/ai-access.ts';
import { createAiTokens } from '#sandbox/service/ai-tokens.ts';
import { createPostgresRows } from '#sandbox/service/rows-postgres.ts';
import { startSandboxes } from '#sandbox/service/sandboxes.ts';
import { heard, openDatabase } from '#test/setup/ai-accounts.ts';
import { startGateway } from '#test/setup/gateway.ts';
import { eventually } from '#test/setup/whole-platform.ts';
import { askerOf } from './sandbox-asker.ts';
import type { BackendCase } from './sandbox.ts';

const MINUTE_MS = 60_000;
const NEVER_MS = 2 ** 31 - 1;
const PLACE = { project: 'shop', resource: 'box', id: 'one' };
const BODY = '{"model":"mock/echo","messages":[{"role":"user","content":"six times seven"}]}';
const FETCH = `fetch(process.env.PLATFORM_AI_URL + "/chat/completions", { method: "POST", body: process.argv[1], headers: {
  authorization: "Bearer " + require("fs").readFileSync(process.env.PLATFORM_AI_TOKEN_FILE, "utf8").trim(),
  "content-type": "application/json" } }).then(async (answer) => console.log(await answer.text()))`;
/** By curl, which images have, or by Node, which a bare machine has. */
const ASK = `if command -v curl >/dev/null; then
  curl -sS -m 60 -H "authorization: Bearer $(cat "$PLATFORM_AI_TOKEN_FILE")" -H 'content-type: application/json' \
    -d '${BODY}' "$PLATFORM_AI_URL/chat/completions"
else
  node -e '${FETCH}' '${BODY}'
fi`;

/** @param open with the gateway at this address. */
export function testSandboxAi(name: string, open: (aiUrl: string) => Promise<BackendCase>): void {
  test(`commands in sandboxes of ${name} reach the AI gateway by a token that is replaced while they run`, async (t) => {
    const closing: (() => Promise<unknown>)[] = [];
    t.after(async () => {
      for (const close of closing.toReversed()) await close();
    });
    const database = await openDatabase();
    closing.push(() => database.close());
    let at = Date.now();
    const accounts = await database.accounts([], () => at);
    const gateway = await startGateway({ accounts, now: () => at });
    closing.push(() => gateway.close());
    const { backend, close } = await open(gateway.url);
    closing.push(close);
    const sql = openPostgres({
      url: await openSandboxRole(database.sql, database.url),
      name: 'service',
      connectionsMax: 4,
    });
    const times = { idleMs: NEVER_MS, stopMs: NEVER_MS, destroyMs: NEVER_MS };
    const reports: string[] = [];
    const report = (message: string): void => void reports.push(message);
    const sandboxes = startSandboxes({
      backend,
      rows: createPostgresRows({
        sql,
        owner: 'one',
        provider: backend.provider,
        perProjectMax: 5,
        leaseMs: NEVER_MS,
        times,
      }),
      times,
      leaseMs: NEVER_MS,
      sweepMs: NEVER_MS,
      perProjectMax: 5,
      ai: createAiAccess({
        tokens: createAiTokens(sql),
        url: backend.aiUrl!,
        connect: (key) => backend.connect(key),
        now: () => at,
        report,
      }),
      report,
    });
    // It closes rows and backend, too.
    closing.push(() => sandboxes.close());
    closing.push(() => sandboxes.destroy(PLACE));
    const asker = async (): Promise<ReturnType<typeof askerOf>> => {
      const held = await sandboxes.hold(PLACE);
      held.release();
      const keys = await backend.keys();
      return askerOf(backend, keys[0]!);
    };
    const tokenOf = async (): Promise<string> =>
      (await (await asker()).exec('cat "$PLATFORM_AI_TOKEN_FILE"')).stdout.trim();
    const until = async (token: string, what: string): Promise<void> => {
      for (;;) {
        const found = await accounts.tokens.authenticate(token);
        if ((typeof found === 'string' ? found : found.kind) === what) return;
        await heard(database.sql);
      }
    };

    const said = await (await asker()).exec(ASK);
    assert.match(said.stdout, /"object":"chat\.completion"/, said.stderr);
    assert.match(said.stdout, /six times seven/);
    await eventually('its use, counted to the project', async () => {
      const [row] = await accounts.usage.rowsOf('acme', 10);
      return row?.caller.kind === 'sandbox' && row.caller.projectId === 'shop' && row.status === 200;
    });

    const first = await tokenOf();
    assert.match(first, /^pk_ai_ait[0-9a-z]{20}_/);
    at += 44 * MINUTE_MS;
    assert.equal(await tokenOf(), first);
    at += MINUTE_MS;
    const second = await tokenOf();
    assert.notEqual(second, first);
    await until(second, 'sandbox');
    assert.match((await (await asker()).exec(ASK)).stdout, /six times seven/);

    // What sleeps has none, and wakes up with a new one.
    await sandboxes.suspend(PLACE);
    await until(second, 'invalid');
    const third = await tokenOf();
    assert.notEqual(third, second);
    assert.match((await (await asker()).exec(ASK)).stdout, /six times seven/);

    await sandboxes.destroy(PLACE);
    await until(third, 'invalid');
    assert.deepEqual(await database.sql.all('SELECT id FROM control.ai_token WHERE kind = $1', 'sandbox'), []);
    assert.deepEqual(reports, []);
  });
}
