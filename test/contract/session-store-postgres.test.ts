// The suite of session stores over Postgres.
import { after } from 'node:test';
import { createPostgresSessions } from '#control/sign-in/session-store-postgres.ts';
import { startControl } from '#test/setup/control.ts';
import { testSessionStore } from './session-store.ts';

const control = await startControl();
after(() => control.close());
const { accountId } = await control.account('bob');

testSessionStore('postgres', async () => ({
  store: createPostgresSessions(control.sql),
  accounts: [control.owner.accountId, accountId],
  async close() {
    await control.sql`DELETE FROM control.session`;
  },
}));
