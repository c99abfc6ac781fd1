// The suite of session stores over Postgres.
import { after, before } from 'node:test';
import { createPostgresSessions } from '#control/sessions/session-store-postgres.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { testSessionStore } from './session-store.ts';

let control: TestControl;
let accountId: string;
before(async () => {
  control = await startControl();
  ({ accountId } = await control.account('bob'));
});
after(() => control.close());

testSessionStore('postgres', async () => ({
  store: createPostgresSessions(control.sql),
  accounts: [control.owner.accountId, accountId],
  async close() {
    await control.sql`DELETE FROM control.session`;
  },
}));
