module.exports = need('fs').promises;
