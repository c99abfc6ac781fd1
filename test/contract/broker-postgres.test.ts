// The broker over Postgres, as the role that engines have.
import { eventsInPostgres } from '#test/setup/events-postgres.ts';
import { brokerContract } from './broker.ts';

brokerContract(eventsInPostgres());
