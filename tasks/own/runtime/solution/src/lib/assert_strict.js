module.exports = need('assert').strict;
