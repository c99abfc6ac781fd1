// nodemailer over sockets of a worker.
import nodemailer from 'nodemailer';

export default {
  async fetch(request, { vars }) {
    const { searchParams } = new URL(request.url);
    const transport = nodemailer.createTransport({
      host: 'localhost',
      port: Number(searchParams.get('port')),
      secure: searchParams.has('secure'),
      requireTLS: true,
      auth: { user: vars.USER, pass: vars.PASSWORD },
      tls: { ca: vars.CA },
    });
    const sent = await transport
      .sendMail({
        from: 'shop@example.com',
        to: 'ada@example.com',
        subject: 'Hello',
        text: 'A letter',
        attachments: [{ filename: 'a.txt', content: 'x'.repeat(200_000) }],
      })
      .then(
        ({ accepted }) => ({ accepted }),
        ({ code, message }) => ({ code, message }),
      );
    return Response.json(sent);
  },
};
