// mysql2 over sockets of a worker.
import mysql from 'mysql2/promise';

export default {
  async fetch(request, { vars }) {
    const { pathname, searchParams } = new URL(request.url);
    const options = {
      host: 'localhost',
      port: Number(searchParams.get('port')),
      user: 'worker',
      password: 'secret word',
      database: 'shop',
      ...(searchParams.has('tls') ? { ssl: { ca: vars.CA } } : {}),
      disableEval: true,
    };
    if (pathname === '/wrong')
      return Response.json(
        await mysql.createConnection({ ...options, password: 'wrong' }).then(
          () => 'connected',
          ({ code }) => code,
        ),
      );
    if (pathname === '/pool') {
      const pool = mysql.createPool({ ...options, connectionLimit: 2 });
      const found = await Promise.all(Array.from({ length: 5 }, (_, at) => pool.execute('SELECT ? AS at', [at])));
      await pool.end();
      return Response.json(found.map(([[{ at }]]) => Number(at)));
    }
    const connection = await mysql.createConnection(options);
    try {
      await connection.query('CREATE OR REPLACE TABLE notes (id int AUTO_INCREMENT PRIMARY KEY, body text)');
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (body) VALUES (?)', ['rolled back']);
      await connection.rollback();
      await connection.beginTransaction();
      await connection.execute('INSERT INTO notes (body) VALUES (?), (?)', ['one', 'two']);
      await connection.commit();
      const [rows] = await connection.execute('SELECT body FROM notes ORDER BY id');
      const [[{ cipher }]] = await connection.query(
        "SELECT VARIABLE_VALUE AS cipher FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_cipher'",
      );
      const [[{ big }]] = await connection.query("SELECT REPEAT('x', 2000000) AS big");
      const failed = await connection.query('SELECT nothing').catch(({ code }) => code);
      return Response.json({ rows: rows.map(({ body }) => body), secure: cipher !== '', big: big.length, failed });
    } finally {
      await connection.end();
    }
  },
};
