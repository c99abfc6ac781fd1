// Queues, timers, cron and workflows over Postgres, as the role that engines have.
import { eventsInPostgres } from '#test/setup/events-postgres.ts';
import { eventStoresContract } from './event-stores.ts';

eventStoresContract(eventsInPostgres());
