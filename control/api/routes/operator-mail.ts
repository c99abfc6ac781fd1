// Emails of the installation, for its operator: whether they are sent, and a test.
import type { MailSettings } from '#core/mail-target.ts';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { ApiError } from '../../http/errors.ts';
import { EmailAddress, nullable, Timestamp } from '../../http/schemas.ts';
import { NO_MAIL } from '../../outbound/send-mail.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { MailResult } from '../../process/mailer.ts';
import { readMailState, type MailOutcome } from '../../records/mail.ts';
import { countAttempt } from '../../sign-in/attempts.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const tags = ['operator'];

const Outcome = Type.Object({
  at: Timestamp,
  project: nullable(Type.String({ description: 'Project whose app sent the email. Null: the platform' })),
  recipient: Type.String({ description: 'Shortened' }),
  error: nullable(Type.String()),
  reply: nullable(Type.String({ description: 'Reply of the mail server' })),
});
const MailState = Type.Object({
  kind: nullable(Type.Enum(['smtp', 'post'])),
  server: nullable(Type.String({ description: 'Host and port, or the host of the endpoint' })),
  from: nullable(Type.String()),
  // Number of queued emails: new ones, and those that wait for a retry.
  waiting: Type.Integer(),
  lastSent: nullable(Outcome),
  lastFailure: nullable(Outcome),
});

export const operatorMail = platform<Dependencies, RequestState>()
  .get(
    '/operator/mail',
    {
      ...needs('operator'),
      tags,
      summary: 'Read how emails are sent, with the last email and the last failure',
      response: MailState,
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { sent, failed, waiting } = await readMailState(ctx.env.sql);
      return { ...viewOf(ctx.env.mail.settings()), waiting, lastSent: toOutcome(sent), lastFailure: toOutcome(failed) };
    },
  )
  .post(
    '/operator/mail/check',
    {
      ...needs('operator'),
      tags,
      summary: 'Sign in at the mail server without sending an email',
      response: Type.Object({
        server: Type.String(),
        isChecked: Type.Boolean({ description: 'False for an HTTP endpoint, which only receives emails' }),
      }),
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { mail } = ctx.env;
      checkOn(ctx.env);
      refuse(await mail.check());
      const { server, kind } = viewOf(mail.settings());
      return { server: server!, isChecked: kind === 'smtp' };
    },
  )
  .post(
    '/operator/mail/test',
    {
      ...needs('operator'),
      tags,
      summary: 'Send a test email',
      body: Type.Object({ to: EmailAddress }),
      response: Type.Object({ server: Type.String() }),
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.operator();
      const { mail, sql, addresses } = ctx.env;
      checkOn(ctx.env);
      await countAttempt(sql, 'mail', accountId);
      await ctx.state.audit(sql, {
        organizationId: null,
        action: 'operator.mail_test',
        subjectKind: 'installation',
        subjectId: null,
        details: { to: ctx.body.to },
      });
      const text = `This is a test of the platform at ${addresses.ui}. Emails from the platform reach this address.`;
      refuse(await mail.attempt({ to: ctx.body.to, subject: 'Test of the platform', text }));
      return { server: viewOf(mail.settings()).server! };
    },
  );

function checkOn({ mail }: Dependencies): void {
  if (!mail.isOn()) throw new ApiError('not_available', { reason: NO_MAIL });
}

/** @throws {ApiError} `unavailable` with the reply of the mail server, which operators may read. */
function refuse({ error, reply }: MailResult): void {
  if (error !== null) throw new ApiError('unavailable', { reason: reply === null ? error : `${error}: ${reply}` });
}

/** The URL without user and password, and without the path of an endpoint, which may be a secret. */
function viewOf({ target, from }: MailSettings) {
  const sender = from === null ? null : from.name === '' ? from.address : `${from.name} <${from.address}>`;
  if (target === null) return { kind: null, server: null, from: sender };
  if (target.kind === 'post') return { kind: target.kind, server: new URL(target.url).host, from: null };
  return { kind: target.kind, server: `${target.host}:${target.port}`, from: sender };
}

function toOutcome(outcome: MailOutcome | null) {
  if (outcome === null) return null;
  const { at, project, recipient, error, reply } = outcome;
  return { at: at.toISOString(), project, recipient, error, reply };
}
