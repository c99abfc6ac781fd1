// The outbox with queues in Postgres, as the role that engines have.
import { eventsInPostgres } from '#test/setup/events-postgres.ts';
import { outboxContract } from './outbox.ts';

outboxContract(eventsInPostgres());
